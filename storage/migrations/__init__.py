"""How the database comes to its newest shape, one numbered revision after another."""
