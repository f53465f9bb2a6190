#include "CMisbehavingDisk.h"
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct volatile_write {
    struct volatile_write *newer, *older;
    char *path;
    sqlite3_int64 offset, size_before;
    int length, old_length;
    unsigned char *new_bytes, *old_bytes;
} volatile_write;

struct misbehaving_disk {
    sqlite3_vfs vfs, *real;
    volatile_write *oldest, *newest;
    long long operations, writes, bytes, syncs, cut_at, fail_at, fail_times;
    unsigned long long seed;
    int fail_code, full, cut;
};

typedef struct disk_file {
    sqlite3_file base;
    misbehaving_disk *disk;
    char *path;
    sqlite3_file *real;
} disk_file;

static unsigned long long next_random(misbehaving_disk *disk)
{
    unsigned long long value = disk->seed += 0x9E3779B97F4A7C15ull;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
    return value ^ (value >> 31);
}

/* Volatile writes. */

static void forget(misbehaving_disk *disk, volatile_write *write)
{
    *(write->older ? &write->older->newer : &disk->oldest) = write->newer;
    *(write->newer ? &write->newer->older : &disk->newest) = write->older;
    free(write->path);
    free(write->new_bytes);
    free(write->old_bytes);
    free(write);
}

static void forget_path(misbehaving_disk *disk, const char *path)
{
    for (volatile_write *write = disk->oldest, *newer; write; write = newer) {
        newer = write->newer;
        if (strcmp(write->path, path) == 0) forget(disk, write);
    }
}

static int remember(disk_file *file, const void *bytes, int length, sqlite3_int64 offset)
{
    sqlite3_int64 size = 0;
    int code = file->real->pMethods->xFileSize(file->real, &size);
    if (code != SQLITE_OK) return code;
    volatile_write *write = calloc(1, sizeof *write);
    write->path = strdup(file->path);
    write->offset = offset;
    write->size_before = size;
    write->length = length;
    write->new_bytes = malloc((size_t)length);
    memcpy(write->new_bytes, bytes, (size_t)length);
    sqlite3_int64 there = size > offset ? size - offset : 0;
    write->old_length = there < length ? (int)there : length;
    write->old_bytes = malloc((size_t)write->old_length + 1);
    if (write->old_length > 0) {
        code = file->real->pMethods->xRead(file->real, write->old_bytes, write->old_length, offset);
        if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) write->old_length = 0;
    }
    write->older = file->disk->newest;
    *(write->older ? &write->older->newer : &file->disk->oldest) = write;
    file->disk->newest = write;
    return SQLITE_OK;
}

static void put(const char *path, const unsigned char *bytes, int length, sqlite3_int64 offset)
{
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return;
    if (length > 0 && pwrite(descriptor, bytes, (size_t)length, offset) < 0) abort();
    close(descriptor);
}

static void cut_power(misbehaving_disk *disk)
{
    disk->cut = 1;
    long long count = 0;
    for (volatile_write *write = disk->newest; write; write = write->older) {
        put(write->path, write->old_bytes, write->old_length, write->offset);
        if (write->offset + write->length > write->size_before && truncate(write->path, write->size_before) < 0 && access(write->path, F_OK) == 0) abort();
        count++;
    }
    unsigned long long manner = next_random(disk) % 4;
    long long kept = count > 0 ? (long long)(next_random(disk) % (unsigned long long)(count + 1)) : 0;
    long long position = 0;
    for (volatile_write *write = disk->oldest; write; write = write->newer, position++) {
        switch (manner) {
        case 0: break;
        case 1: if (position < kept) put(write->path, write->new_bytes, write->length, write->offset); break;
        case 2: if (next_random(disk) & 1) put(write->path, write->new_bytes, write->length, write->offset); break;
        default:
            if (position < kept) put(write->path, write->new_bytes, write->length, write->offset);
            if (position == kept) put(write->path, write->new_bytes, (int)(next_random(disk) % (unsigned long long)(write->length + 1)), write->offset);
        }
    }
    while (disk->oldest) forget(disk, disk->oldest);
}

/* One operation that changes the disk: SQLITE_OK to go on. */
static int step(misbehaving_disk *disk)
{
    if (disk->cut) return SQLITE_IOERR;
    disk->operations++;
    if (disk->cut_at > 0 && --disk->cut_at == 0) {
        cut_power(disk);
        return SQLITE_IOERR;
    }
    if (disk->fail_at > 0 && --disk->fail_at == 0) {
        if (--disk->fail_times > 0) disk->fail_at = 1;
        return disk->fail_code;
    }
    return SQLITE_OK;
}

/* Methods of a file. */

static int file_close(sqlite3_file *base)
{
    disk_file *file = (disk_file *)base;
    int code = file->real->pMethods ? file->real->pMethods->xClose(file->real) : SQLITE_OK;
    free(file->path);
    return code;
}

static int file_read(sqlite3_file *base, void *bytes, int length, sqlite3_int64 offset)
{
    disk_file *file = (disk_file *)base;
    if (file->disk->cut) return SQLITE_IOERR_READ;
    return file->real->pMethods->xRead(file->real, bytes, length, offset);
}

static int file_write(sqlite3_file *base, const void *bytes, int length, sqlite3_int64 offset)
{
    disk_file *file = (disk_file *)base;
    int code = step(file->disk);
    if (code != SQLITE_OK) return code;
    sqlite3_int64 size = 0;
    code = file->real->pMethods->xFileSize(file->real, &size);
    if (code != SQLITE_OK) return code;
    if (file->disk->full && offset + length > size) return SQLITE_FULL;
    code = remember(file, bytes, length, offset);
    if (code != SQLITE_OK) return code;
    file->disk->writes++;
    file->disk->bytes += length;
    return file->real->pMethods->xWrite(file->real, bytes, length, offset);
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    disk_file *file = (disk_file *)base;
    int code = step(file->disk);
    return code != SQLITE_OK ? code : file->real->pMethods->xTruncate(file->real, size);
}

static int file_sync(sqlite3_file *base, int flags)
{
    disk_file *file = (disk_file *)base;
    int code = step(file->disk);
    if (code != SQLITE_OK) return code;
    (void)flags; /* A power cut here is simulated; a real sync would only take time. */
    file->disk->syncs++;
    forget_path(file->disk, file->path);
    return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
    disk_file *file = (disk_file *)base;
    return file->real->pMethods->xFileSize(file->real, size);
}

static int file_lock(sqlite3_file *base, int level)
{
    disk_file *file = (disk_file *)base;
    return file->real->pMethods->xLock(file->real, level);
}

static int file_unlock(sqlite3_file *base, int level)
{
    disk_file *file = (disk_file *)base;
    return file->real->pMethods->xUnlock(file->real, level);
}

static int file_check_lock(sqlite3_file *base, int *held)
{
    disk_file *file = (disk_file *)base;
    return file->real->pMethods->xCheckReservedLock(file->real, held);
}

static int file_control(sqlite3_file *base, int operation, void *argument)
{
    disk_file *file = (disk_file *)base;
    if (operation == SQLITE_FCNTL_SIZE_HINT) return SQLITE_OK;
    return file->real->pMethods->xFileControl(file->real, operation, argument);
}

static int file_sector(sqlite3_file *base)
{
    disk_file *file = (disk_file *)base;
    return file->real->pMethods->xSectorSize(file->real);
}

static int file_characteristics(sqlite3_file *base)
{
    disk_file *file = (disk_file *)base;
    return file->real->pMethods->xDeviceCharacteristics(file->real);
}

/* Version 1: no shared memory, so that only a connection in exclusive mode can use a write-ahead log. */
static const sqlite3_io_methods methods = {
    .iVersion = 1, .xClose = file_close, .xRead = file_read, .xWrite = file_write, .xTruncate = file_truncate, .xSync = file_sync,
    .xFileSize = file_size, .xLock = file_lock, .xUnlock = file_unlock, .xCheckReservedLock = file_check_lock, .xFileControl = file_control,
    .xSectorSize = file_sector, .xDeviceCharacteristics = file_characteristics,
};

/* Methods of the VFS. */

static int disk_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *out)
{
    misbehaving_disk *disk = vfs->pAppData;
    disk_file *file = (disk_file *)base;
    memset(file, 0, sizeof *file);
    if (disk->cut) return SQLITE_CANTOPEN;
    file->disk = disk;
    file->real = (sqlite3_file *)(file + 1);
    int code = disk->real->xOpen(disk->real, path, file->real, flags, out);
    if (code != SQLITE_OK) return code;
    file->path = strdup(path ? path : "");
    file->base.pMethods = &methods;
    return SQLITE_OK;
}

static int disk_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
    misbehaving_disk *disk = vfs->pAppData;
    int code = step(disk);
    if (code != SQLITE_OK) return code;
    forget_path(disk, path);
    return disk->real->xDelete(disk->real, path, sync);
}

static int disk_access(sqlite3_vfs *vfs, const char *path, int flags, int *result)
{
    misbehaving_disk *disk = vfs->pAppData;
    return disk->cut ? SQLITE_IOERR : disk->real->xAccess(disk->real, path, flags, result);
}

misbehaving_disk *misbehaving_disk_make(const char *name)
{
    misbehaving_disk *disk = calloc(1, sizeof *disk);
    if (!disk) return NULL;
    sqlite3_initialize();
    disk->real = sqlite3_vfs_find(NULL);
    disk->vfs = *disk->real;
    disk->vfs.iVersion = 2;
    disk->vfs.pNext = NULL;
    disk->vfs.zName = strdup(name);
    disk->vfs.pAppData = disk;
    disk->vfs.szOsFile = (int)sizeof(disk_file) + disk->real->szOsFile;
    disk->vfs.xOpen = disk_open;
    disk->vfs.xDelete = disk_delete;
    disk->vfs.xAccess = disk_access;
    sqlite3_vfs_register(&disk->vfs, 0);
    return disk;
}

void misbehaving_disk_free(misbehaving_disk *disk)
{
    sqlite3_vfs_unregister(&disk->vfs);
    while (disk->oldest) forget(disk, disk->oldest);
    free((char *)disk->vfs.zName);
    free(disk);
}

void misbehaving_disk_cut_at(misbehaving_disk *disk, long long operation, unsigned long long seed)
{
    disk->cut_at = operation;
    disk->seed = seed;
}

void misbehaving_disk_fail_at(misbehaving_disk *disk, long long operation, int code, long long times)
{
    disk->fail_at = operation;
    disk->fail_code = code;
    disk->fail_times = times;
}

void misbehaving_disk_set_full(misbehaving_disk *disk, int full) { disk->full = full; }
int misbehaving_disk_is_cut(const misbehaving_disk *disk) { return disk->cut; }
long long misbehaving_disk_operations(const misbehaving_disk *disk) { return disk->operations; }
long long misbehaving_disk_writes(const misbehaving_disk *disk) { return disk->writes; }
long long misbehaving_disk_bytes(const misbehaving_disk *disk) { return disk->bytes; }
long long misbehaving_disk_syncs(const misbehaving_disk *disk) { return disk->syncs; }
