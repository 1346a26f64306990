"""Athena's workgroup, its queries and rights, and QuickSight's dashboard."""
