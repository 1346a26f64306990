"""Alarms, the dashboard and the budget."""
