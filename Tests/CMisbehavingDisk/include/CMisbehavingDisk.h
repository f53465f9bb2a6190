/// A SQLite VFS over the real one that counts what reaches the disk and misbehaves when told to: power cuts, errors, no room.
///
/// What was written and not yet synced is remembered with what it replaced. When the power is cut, each file goes back to its last
/// sync, and by the seed none, some, the first few, or half of one of the writes since then are on the disk after all.
#ifndef CMisbehavingDisk_H
#define CMisbehavingDisk_H

typedef struct misbehaving_disk misbehaving_disk;

/// A disk, registered as the VFS `name`; NULL when there is no memory.
misbehaving_disk *misbehaving_disk_make(const char *name);
/// Takes the VFS away. No connection may be open.
void misbehaving_disk_free(misbehaving_disk *disk);

/// Cuts the power at the `operation`-th write, sync, truncation or deletion from now (1 is the next). 0: never.
void misbehaving_disk_cut_at(misbehaving_disk *disk, long long operation, unsigned long long seed);
/// Fails that one operation with the SQLite result `code`, and `times - 1` ones behind it. 0: never.
void misbehaving_disk_fail_at(misbehaving_disk *disk, long long operation, int code, long long times);
/// While set, no file grows: a write beyond a file's end gives SQLITE_FULL.
void misbehaving_disk_set_full(misbehaving_disk *disk, int full);

/// Whether the power was cut.
int misbehaving_disk_is_cut(const misbehaving_disk *disk);
/// Operations, writes, bytes written and syncs since the disk was made.
long long misbehaving_disk_operations(const misbehaving_disk *disk);
long long misbehaving_disk_writes(const misbehaving_disk *disk);
long long misbehaving_disk_bytes(const misbehaving_disk *disk);
long long misbehaving_disk_syncs(const misbehaving_disk *disk);
#endif
