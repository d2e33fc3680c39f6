"""Fewer spilled registers in one kernel, without a GPU: ptxas counts them.

    python spill_reduction.py kernel.ptx best.acf
    evocc ptxas --apply-controls best.acf -arch=sm_90a kernel.ptx -o kernel.cubin
"""

import sys

import evocc
from evocc import space


def spilled_bytes(candidate):
    result = evocc.compile(candidate, code=False)
    if result.outcome != "ok":
        raise evocc.Invalid(result.detail, result.outcome)
    return evocc.Score(result.metrics["spill_bytes"], metrics={"registers": result.metrics["registers"]},
                       code_hash=result.code_hash, command=result.command)


if __name__ == "__main__":
    config = evocc.SearchConfig(generations=4, targets=[0])
    search = evocc.Search(spilled_bytes, space.PtxSpace(sys.argv[1]), config)
    results = search.start(num_workers=2, trackers=[evocc.Progress()])
    best = results.get_best_result()
    print(f"spilled: {results.rows()[0]['score_1']:g} bytes by default, {best['score_1']:g} with",
          results.candidate(best))
    if best["params"]:
        results.save(sys.argv[2])
