"""The lake's queries in Athena's SQL, and the QuickSight dashboard's definition."""
