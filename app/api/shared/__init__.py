"""What all routes share: dependencies, errors, paging, files, schemas."""
