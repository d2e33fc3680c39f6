#include "compiler/object.h"

#include "util/error.h"

#include <gelf.h>
#include <libelf.h>
#include <string.h>

/* What a linker goes by: without these, two objects that call different functions look alike. */
static bool is_linkage(const GElf_Shdr *header)
{
    return header->sh_type == SHT_RELA || header->sh_type == SHT_REL ||
           header->sh_type == SHT_SYMTAB || header->sh_type == SHT_STRTAB;
}

static void add_section(double *code_bytes, hash_sha256_state *sum, Elf_Scn *section,
                        const GElf_Shdr *header, const char *name, bool relocatable)
{
    bool loaded = (header->sh_flags & SHF_ALLOC) != 0;
    const Elf_Data *data = header->sh_type == SHT_NOBITS ? NULL : elf_rawdata(section, NULL);
    if ((!loaded && !(relocatable && is_linkage(header))) ||
        strcmp(name, ".note.gnu.build-id") == 0) {
        return;
    }
    if (loaded && header->sh_type != SHT_NOBITS) {
        *code_bytes += (double)header->sh_size;
    }
    const uint64_t place[] = {header->sh_flags, header->sh_addr, header->sh_size,
                              header->sh_addralign};
    hash_sha256_add(sum, name, strlen(name) + 1);
    hash_sha256_add(sum, place, sizeof place);
    if (data != NULL && data->d_buf != NULL) {
        hash_sha256_add(sum, data->d_buf, data->d_size);
    }
}

evocc_status object_add(double *code_bytes, hash_sha256_state *sum, const void *data, size_t length,
                        const char *name, evocc_error *error)
{
    if (elf_version(EV_CURRENT) == EV_NONE) {
        return error_set(error, EVOCC_UNSUPPORTED, "libelf is of another generation");
    }
    /* elf_memory takes a plain pointer, but writes nowhere: the image is only read here. */
    Elf *elf = length < sizeof(Elf32_Ehdr) ? NULL : elf_memory((char *)(uintptr_t)data, length);
    GElf_Ehdr header;
    size_t names = 0;
    if (elf == NULL || elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == NULL ||
        elf_getshdrstrndx(elf, &names) != 0) {
        elf_end(elf);
        return error_set(error, EVOCC_PARSE, "%s is no ELF file with sections", name);
    }
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL;
         section = elf_nextscn(elf, section)) {
        GElf_Shdr of_section;
        const char *section_name = NULL;
        if (gelf_getshdr(section, &of_section) != NULL) {
            section_name = elf_strptr(elf, names, of_section.sh_name);
        }
        if (section_name == NULL) {
            elf_end(elf);
            return error_set(error, EVOCC_PARSE, "%s has a damaged section table", name);
        }
        add_section(code_bytes, sum, section, &of_section, section_name, header.e_type == ET_REL);
    }
    elf_end(elf);
    return EVOCC_OK;
}
