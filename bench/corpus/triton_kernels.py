"""PTX from Triton without a GPU: triton_kernels.py OUT. Says so and exits 0 where there is no Triton."""
import os
import sys

try:
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError as reason:
    print("no Triton kernels: %s" % reason, file=sys.stderr)
    sys.exit(0)


@triton.jit
def vector_add(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(o, x, stride, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * stride + i, mask=i < n, other=-float("inf"))
    e = tl.exp(row - tl.max(row, axis=0))
    tl.store(o + tl.program_id(0) * stride + i, e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def layernorm(o, x, w, b, n, eps, BLOCK: tl.constexpr):
    base = tl.program_id(0) * n
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for k in range(0, n, BLOCK):
        i = k + tl.arange(0, BLOCK)
        acc += tl.load(x + base + i, mask=i < n, other=0.0).to(tl.float32)
    mean = tl.sum(acc, axis=0) / n
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for k in range(0, n, BLOCK):
        i = k + tl.arange(0, BLOCK)
        d = tl.load(x + base + i, mask=i < n, other=0.0).to(tl.float32) - mean
        acc += tl.where(i < n, d * d, 0.0)
    r = 1 / tl.sqrt(tl.sum(acc, axis=0) / n + eps)
    for k in range(0, n, BLOCK):
        i = k + tl.arange(0, BLOCK)
        v = (tl.load(x + base + i, mask=i < n).to(tl.float32) - mean) * r
        tl.store(o + base + i, v * tl.load(w + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    pa = a + m[:, None] * K + k[None, :]
    pb = b + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * N
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))


@triton.jit
def attention(q, k, v, o, scale, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :])
    top = tl.full([BM], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for s in range(0, n, BN):
        j = s + tl.arange(0, BN)
        w = tl.dot(x, tl.trans(tl.load(k + j[:, None] * D + d[None, :]))) * scale
        high = tl.maximum(top, tl.max(w, 1))
        p = tl.exp2(w - high[:, None])
        c = tl.exp2(top - high)
        total = total * c + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + j[:, None] * D + d[None, :]), acc * c[:, None])
        top = high
    tl.store(o + m[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def sort_scan(o, x, h, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(o + i, tl.sort(v) + tl.cumsum(v, 0))
    tl.atomic_add(h + (v & 255), 1)


@triton.jit
def dropout(o, x, seed, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, i) > 0.3
    tl.store(o + i, tl.where(keep, tl.load(x + i, mask=i < n) / 0.7, 0.0), mask=i < n)


F16 = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
QKV = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "o": "*fp16", "scale": "fp32", "n": "i32"}
CASES = [
    (vector_add, {"x": "*fp32", "y": "*fp32", "o": "*fp32", "n": "i32"}, {"BLOCK": 1024}, {}),
    (softmax, {"o": "*fp32", "x": "*fp32", "stride": "i32", "n": "i32"}, {"BLOCK": 4096}, {}),
    (layernorm, {"o": "*fp16", "x": "*fp16", "w": "*fp16", "b": "*fp16", "n": "i32", "eps": "fp32"},
     {"BLOCK": 2048}, {"num_warps": 8}),
    (matmul, F16, {"BM": 64, "BN": 64, "BK": 32}, {"num_stages": 3}),
    (matmul, F16, {"BM": 128, "BN": 128, "BK": 64}, {"num_stages": 3, "num_warps": 8}),
    (attention, QKV, {"BM": 64, "BN": 64, "D": 64}, {"num_stages": 2}),
    (attention, QKV, {"BM": 128, "BN": 64, "D": 128}, {"num_stages": 2, "num_warps": 8}),
    (sort_scan, {"o": "*i32", "x": "*i32", "h": "*i32"}, {"BLOCK": 1024}, {}),
    (dropout, {"o": "*fp32", "x": "*fp32", "seed": "i32", "n": "i32"}, {"BLOCK": 1024}, {}),
]


def compile_case(kernel, signature, constants, options, capability):
    names = kernel.arg_names
    full = {**signature, **{name: "constexpr" for name in constants}}
    # 16-byte alignment and divisibility, as Triton specialises its usual arguments.
    attrs = {(names.index(name),): [["tt.divisibility", 16]]
             for name, kind in signature.items() if kind.startswith("*") or kind == "i32"}
    source = ASTSource(fn=kernel, signature=full, constexprs=constants, attrs=attrs)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options).asm["ptx"]


def main():
    out = sys.argv[1]
    for index, (kernel, signature, constants, options) in enumerate(CASES):
        for capability in (80, 86, 89, 90, 100, 120):
            name = "triton-%s%d-%d.ptx" % (kernel.fn.__name__, index, capability)
            path = os.path.join(out, name)
            if os.path.exists(path):
                continue
            try:
                ptx = compile_case(kernel, signature, constants, options, capability)
            except Exception as reason:  # a compiler refuses for reasons of its own: noted, passed over
                with open(os.path.join(out, "failed"), "a", encoding="utf-8") as failed:
                    failed.write("%s: %s\n" % (name, str(reason)[:500]))
                continue
            with open(path, "w", encoding="ascii") as text:
                text.write(ptx)


main()
