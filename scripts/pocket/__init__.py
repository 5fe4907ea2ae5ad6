"""The starter knowledge's tables, and how they become facts and articles."""
