"""Tables computed from other tables of the lake: derived tables and histories."""
