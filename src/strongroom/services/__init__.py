"""What all areas need and none owns: audit, usage, slow hashing. Knows no area."""
