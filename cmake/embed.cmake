# cmake -DOUTPUT=file.c "-DINPUTS=a.yaml;b.yaml" -P embed.cmake: the files as C arrays, and a table of
# them (space_builtin in src/space/space.h), named by file name without extension.
set(arrays "")
set(rows "")
set(count 0)
foreach(input IN LISTS INPUTS)
    get_filename_component(name "${input}" NAME_WE)
    file(READ "${input}" hex HEX)
    string(LENGTH "${hex}" digits)
    math(EXPR length "${digits} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    # 16 bytes a line.
    string(REGEX REPLACE "((0x..,){16})" "\\1\n    " bytes "${bytes}")
    string(APPEND arrays "static const char data_${count}[] = {\n    ${bytes}0};\n")
    string(APPEND rows "    {\"${name}\", data_${count}, ${length}},\n")
    math(EXPR count "${count} + 1")
endforeach()
file(WRITE "${OUTPUT}.new" "/* Made by cmake/embed.cmake; do not edit. */\n#include \"space/space.h\"\n
extern const space_builtin builtin_table[];\nextern const size_t builtin_table_count;\n
${arrays}\nconst space_builtin builtin_table[] = {\n${rows}};\nconst size_t builtin_table_count = ${count};\n")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
