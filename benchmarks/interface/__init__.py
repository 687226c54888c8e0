"""Loading and update times of pages."""
