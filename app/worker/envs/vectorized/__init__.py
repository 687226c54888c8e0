"""Classic-control environments whose copies are stepped together, exactly as Gymnasium would."""
