INSERT INTO store_meta (name, value) VALUES ('restore_epoch', 0) ON CONFLICT (name) DO NOTHING;
