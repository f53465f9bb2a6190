#define _GNU_SOURCE
#include "CLinux.h"
#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>

void clinux_tune_malloc(void) {
    // Two threads that seldom allocate at the same time need no arena each: what one frees serves the other.
    mallopt(M_ARENA_MAX, 1);
    // Setting one of the thresholds also keeps malloc from raising them by itself after the first large block.
    mallopt(M_MMAP_THRESHOLD, 32 * 1024);
    mallopt(M_TRIM_THRESHOLD, 64 * 1024);
}

static int has_text_relocations(const struct dl_phdr_info *object) {
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        if (header->p_type != PT_DYNAMIC) continue;
        for (const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(object->dlpi_addr + header->p_vaddr); entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL))) return 1;
    }
    return 0;
}

static int unmap_pages(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    uintptr_t page = *(const uintptr_t *)context;
    // The loader has written to such an object's code: dropping a page would undo that.
    if (has_text_relocations(object)) return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        // Never writable, so the page in the file is the page in memory. Whole pages only: the next segment may share the last one.
        if (header->p_type != PT_LOAD || (header->p_flags & PF_W) || !(header->p_flags & PF_R)) continue;
        uintptr_t begin = (object->dlpi_addr + header->p_vaddr + page - 1) & ~(page - 1);
        uintptr_t end = (object->dlpi_addr + header->p_vaddr + header->p_filesz) & ~(page - 1);
        if (begin < end) madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    return 0;
}

void clinux_release_memory(void) {
    malloc_trim(0);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    dl_iterate_phdr(unmap_pages, &page);
}
