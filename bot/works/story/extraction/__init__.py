"""What is read out of a scene once it is written: who speaks and acts, what happened, what contradicts the rest."""
