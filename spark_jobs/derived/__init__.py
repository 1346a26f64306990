"""Tables that are made of other tables of the lake: derived ones and histories."""
