"""Migrates the database to its newest schema, one numbered revision after another."""
