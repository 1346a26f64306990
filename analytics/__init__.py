"""The lake's queries in Athena's SQL, and the definition of the QuickSight dashboard."""
