/*
 * compare_ptx.h: the one kernel of our own, which compares two regions of device memory. PTX, for
 * the driver to compile; any GPU since Maxwell takes it.
 *
 * evocc_compare(left, right, chunks, verdict): compares chunks of 16 bytes; verdict[0] += the
 * number that differ, verdict[1] = max of ~index, so that zeroes are the right start for both.
 * Launch with any one-dimensional grid.
 */
#ifndef GPU_COMPARE_PTX_H
#define GPU_COMPARE_PTX_H

static const char compare_ptx[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry evocc_compare(.param .u64 left, .param .u64 right,\n"
    "    .param .u64 chunks, .param .u64 verdict)\n"
    "{\n"
    "    .reg .pred %p<3>;\n"
    "    .reg .b32 %r<20>;\n"
    "    .reg .b64 %rd<16>;\n"
    "    ld.param.u64 %rd1, [left];\n"
    "    ld.param.u64 %rd2, [right];\n"
    "    ld.param.u64 %rd3, [chunks];\n"
    "    ld.param.u64 %rd4, [verdict];\n"
    "    cvta.to.global.u64 %rd1, %rd1;\n"
    "    cvta.to.global.u64 %rd2, %rd2;\n"
    "    cvta.to.global.u64 %rd4, %rd4;\n"
    "    mov.u32 %r1, %ctaid.x;\n"
    "    mov.u32 %r2, %ntid.x;\n"
    "    mov.u32 %r3, %tid.x;\n"
    "    mov.u32 %r4, %nctaid.x;\n"
    "    cvt.u64.u32 %rd5, %r3;\n"
    "    mul.wide.u32 %rd6, %r1, %r2;\n"
    "    add.u64 %rd5, %rd5, %rd6;\n"
    "    mul.wide.u32 %rd7, %r4, %r2;\n"
    "LOOP:\n"
    "    setp.ge.u64 %p1, %rd5, %rd3;\n"
    "    @%p1 bra DONE;\n"
    "    shl.b64 %rd8, %rd5, 4;\n"
    "    add.u64 %rd9, %rd1, %rd8;\n"
    "    add.u64 %rd10, %rd2, %rd8;\n"
    "    ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd9];\n"
    "    ld.global.v4.u32 {%r9, %r10, %r11, %r12}, [%rd10];\n"
    "    xor.b32 %r5, %r5, %r9;\n"
    "    xor.b32 %r6, %r6, %r10;\n"
    "    xor.b32 %r7, %r7, %r11;\n"
    "    xor.b32 %r8, %r8, %r12;\n"
    "    or.b32 %r5, %r5, %r6;\n"
    "    or.b32 %r7, %r7, %r8;\n"
    "    or.b32 %r5, %r5, %r7;\n"
    "    setp.eq.u32 %p2, %r5, 0;\n"
    "    @%p2 bra NEXT;\n"
    "    mov.u64 %rd11, 1;\n"
    "    atom.global.add.u64 %rd12, [%rd4], %rd11;\n"
    "    not.b64 %rd13, %rd5;\n"
    "    atom.global.max.u64 %rd14, [%rd4+8], %rd13;\n"
    "NEXT:\n"
    "    add.u64 %rd5, %rd5, %rd7;\n"
    "    bra LOOP;\n"
    "DONE:\n"
    "    ret;\n"
    "}\n";

#endif
