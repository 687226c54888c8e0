"""Peewee tables and their fields."""
