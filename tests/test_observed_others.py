"""Nsight Systems and rocprof: databases, summaries, traces and counters."""

from __future__ import annotations

import sqlite3

import pytest
from observed_files import observed, packed

from rooflens.errors import BadFile, RooflensError

SUMMARY = """Generating SQLite file trace.sqlite from trace.nsys-rep
Processing [trace.sqlite] with [cuda_gpu_kern_sum.py]...
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
50.1,99385786,32,3105805.8,3041179.0,2987340,3777790,216832.4,flash_attention_prefill_f16
0.5,992557,64,15508.7,15500.0,15000,16000,200.0,"void rms_norm_kernel<float, (int)256>(float *, const float *, int)"
"""
COUNTERS = """Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,Arch_VGPR,wave_size,SQ_INSTS_VALU_ADD_F32,\
SQ_INSTS_VALU_MUL_F32,SQ_INSTS_VALU_FMA_F32,SQ_INSTS_VALU_TRANS_F32,SQ_INSTS_VALU_MFMA_MOPS_F16,TCC_EA_RDREQ_32B_sum,\
TCC_EA_RDREQ_sum,TCC_EA_WRREQ_64B_sum,TCC_EA_WRREQ_sum,Start_Timestamp,End_Timestamp
0,"vecCopy(double*, int) [clone .kd]",2,1048576,256,8,64,0,0,0,0,0,0.0,131072.0,131072.0,131072.0,1413317650641624,1413317650661624
1,"product(half*)",2,64,64,8,64,1,2,3,4,5,10.0,110.0,20.0,30.0,1413317650753782,1413317650770102
"""  # noqa: E501


def database(path, *, kernels, rows=()):
    """An export of Nsight Systems, as small as one can be."""
    connection = sqlite3.connect(path)
    connection.executescript("""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
            correlationId INTEGER, globalPid INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,
            blockY INTEGER, blockZ INTEGER, registersPerThread INTEGER, demangledName INTEGER, graphNodeId INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, bytes INTEGER,
            copyKind INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
            nameId INTEGER);
        CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, computeMajor INTEGER, computeMinor INTEGER,
            smCount INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER);
        INSERT INTO StringIds VALUES (1, 'flash_attention_prefill_f16'), (2, 'ampere_fp16_s1688gemm_fp16_64x128_tn'),
            (3, 'cudaLaunchKernel_v7000');
        INSERT INTO TARGET_INFO_GPU VALUES
            (0, 'NVIDIA GeForce RTX 4090', 8, 9, 128, 25393692672, 1008096000000, 2520000000);
    """)
    connection.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({','.join('?' * 15)})", kernels)
    for table, row in rows:
        connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
    connection.commit()
    connection.close()
    return path.read_bytes()


PREFILL = (1000, 3106805, 0, 7, 11, 1 << 24, 32, 8, 1, 128, 1, 1, 168, 1, None)
PRODUCT = (3200000, 3451406, 0, 7, 12, 1 << 24, 64, 1, 1, 128, 1, 1, 128, 2, None)


def test_a_summary_of_kernels_has_its_totals(tmp_path):
    found = observed(tmp_path, SUMMARY)
    first, second = found.kernels
    assert (first.calls, first.time_s) == (32, pytest.approx(99385786e-9))
    assert (first.shortest_s, first.longest_s) == (pytest.approx(2987340e-9), pytest.approx(3777790e-9))
    assert second.name == "void rms_norm_kernel<float, (int)256>(float *, const float *, int)"
    assert "times alone" in found.warnings[0]


def test_an_old_summary_has_other_titles(tmp_path):
    old = 'Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,StdDev,Name\n100.0,500,5,100.0,90,110,1,"k"\n'
    one = observed(tmp_path, old).kernels[0]
    assert (one.calls, one.time_s) == (5, pytest.approx(500e-9))


def test_a_summary_in_columns_is_read_too(tmp_path):
    text = """
 ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):

 Time (%)  Total Time (ns)  Instances   Avg (ns)    Name
 --------  ---------------  ---------  ----------  -------------------------------
     90.0        9,000,000          3  3,000,000.0  void k<float, 4>(float *, int)

 ** CUDA API Summary (cuda_api_sum):

 Time (%)  Total Time (ns)  Num Calls   Avg (ns)    Name
 --------  ---------------  ---------  ----------  ----------------
     50.0          123,000         10    12,300.0  cudaLaunchKernel
"""
    found = observed(tmp_path, text)
    assert [(k.name, k.calls, k.time_s) for k in found.kernels] == [
        ("void k<float, 4>(float *, int)", 3, pytest.approx(9e-3))
    ]
    assert [(c.name, c.calls, c.time_s) for c in found.host_calls] == [("cudaLaunchKernel", 10, pytest.approx(123e-6))]


def test_megabytes_of_copies_are_decimal(tmp_path):
    head = "Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation\n"
    text = head + "16.000,2,8.0,8.0,8.0,8.0,0.0,[CUDA memcpy Host-to-Device]\n"
    (copy,) = observed(tmp_path, text).copies
    assert (copy.what, copy.calls, copy.bytes) == ("HtoD", 2, 16e6)


def test_the_trace_of_a_gpu_has_a_timeline(tmp_path):
    head = "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,Bytes (MB),Device,Ctx,Strm,Name\n"
    rows = ("1000,500,7,8,1,1,128,1,1,32,,NVIDIA H200 (0),1,7,a_kernel\n"
            "2000,100,8,,,,,,,,4.000,NVIDIA H200 (0),1,7,[CUDA memcpy Device-to-Host]\n")  # fmt: skip
    found = observed(tmp_path, head + rows)
    assert (found.kernels[0].launch.grid, found.kernels[0].device) == ((8, 1, 1), 0)
    assert (found.copies[0].what, found.copies[0].bytes) == ("DtoH", 4e6)
    assert (found.timelines[0].span_s, found.timelines[0].gaps_s) == (pytest.approx(1100e-9), pytest.approx(500e-9))


def test_a_database_names_kernels_by_its_strings_and_states_its_device(tmp_path):
    found = observed(tmp_path, database(tmp_path / "db", kernels=[PREFILL, PRODUCT]))
    assert [(k.name, k.calls) for k in found.kernels] == [
        ("flash_attention_prefill_f16", 1), ("ampere_fp16_s1688gemm_fp16_64x128_tn", 1),
    ]  # fmt: skip
    assert [k.time_s for k in found.kernels] == pytest.approx([3.105805e-3, 0.251406e-3])
    assert found.devices[0].memory_bytes_per_s == 1008096000000
    assert found.devices[0].compute_capability == "8.9"
    assert found.kernels[1].dtype == "fp16"


def test_a_database_says_who_waited_for_whom_by_process(tmp_path):
    calls = [("CUPTI_ACTIVITY_KIND_RUNTIME", (3150000, 3160000, (1 << 24) | 5, 12, 3)),
             ("CUPTI_ACTIVITY_KIND_RUNTIME", (0, 10, (2 << 24) | 5, 12, 3))]  # fmt: skip
    found = observed(tmp_path, database(tmp_path / "db", kernels=[PREFILL, PRODUCT], rows=calls))
    (line,) = found.timelines
    assert line.host_s == pytest.approx((3150000 - 3106805) * 1e-9)  # the call of its own process, not of the other
    assert line.launch_s == pytest.approx((3200000 - 3150000) * 1e-9)
    assert found.host_calls[0].name == "cudaLaunchKernel"


def test_a_database_has_copies_and_graphs(tmp_path):
    copies = [("CUPTI_ACTIVITY_KIND_MEMCPY", (0, 100, 0, 4096, 1))]
    found = observed(tmp_path, packed(database(tmp_path / "db", kernels=[(*PREFILL[:-1], 9)], rows=copies)))
    assert (found.copies[0].what, found.copies[0].bytes) == ("HtoD", 4096)
    assert found.kernels[0].launch.graph is True


def test_a_database_of_something_else_or_a_damaged_one_is_a_sentence(tmp_path):
    other = tmp_path / "other"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE a (b)")
    connection.commit()
    connection.close()
    with pytest.raises(BadFile, match="no export of Nsight Systems"):
        observed(tmp_path, other.read_bytes())
    whole = database(tmp_path / "db", kernels=[PREFILL])
    with pytest.raises(RooflensError):
        observed(tmp_path, whole[: len(whole) // 2])
    with pytest.raises(BadFile, match="export it again"):  # what SQLite says of it quotes the byte, which is no UTF-8
        observed(tmp_path, whole.replace(b"CREATE TABLE TARGET_INFO_GPU (", b"CREATE TABLE TARGET_INFO_GPU \xb4", 1))


def test_a_table_that_is_a_view_is_not_run(tmp_path):
    path = tmp_path / "db"
    connection = sqlite3.connect(path)
    connection.executescript("""CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i AS end FROM n;""")
    connection.close()
    with pytest.raises(BadFile):
        observed(tmp_path, path.read_bytes())


def test_requests_to_memory_are_64_bytes_unless_said_otherwise(tmp_path):
    copy, product = observed(tmp_path, COUNTERS).kernels
    assert copy.bytes == 131072 * 64 * 2
    assert copy.bytes / copy.time_s == pytest.approx(839e9, rel=1e-3)  # in 20 us
    assert (copy.total_flops, copy.flops_origin) == (0, "counted")
    assert product.read_bytes == 64 * (110 - 10) + 32 * 10
    assert product.write_bytes == 64 * 20 + 32 * (30 - 20)


def test_an_instruction_of_a_wave_works_on_all_its_lanes(tmp_path):
    product = observed(tmp_path, COUNTERS).kernels[1]
    assert product.vector_flops == {"fp32": 64 * (1 + 2 + 2 * 3 + 4)}
    assert product.flops == {"fp16": 512 * 5}
    assert (product.dtype, product.unit, product.device) == ("fp16", "matrix", 2)


def test_counters_in_rows_are_those_in_columns(tmp_path):
    head = (
        '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Kernel_Name","Counter_Name","Counter_Value",'
        '"Start_Timestamp","End_Timestamp"\n'
    )
    rows = "".join(
        f'{i},{i},"Agent 4",1,"k","{name}",{value},{1000 * i},{1000 * i + 500}\n'
        for i in (1, 2)
        for name, value in (("FETCH_SIZE", 2), ("WRITE_SIZE", 1), ("SQ_INSTS_VALU_MFMA_MOPS_BF16", 3))
    )
    first, second = observed(tmp_path, head + rows).kernels
    assert first.bytes == second.bytes == 3 * 1024
    assert first.flops == {"bf16": 3 * 512}
    assert first.vector_flops is None
    assert "collect SQ_INSTS_VALU" in first.missing["vector_flops"]
    assert (first.time_s, first.device) == (pytest.approx(500e-9), 4)


V1 = """"Index","KernelName","gpu-id","queue-id","grd","wgr","BeginNs","EndNs","DurationNs"
0,"k(int)",4,0,64,64,1000,1500,500
"""
V2 = """Dispatch_ID,GPU_ID,Queue_ID,Grid_Size,Workgroup_Size,Kernel_Name,Start_Timestamp,End_Timestamp
1,4,0,64,64,k(int),1000,1500
"""
V3 = """"Kind","Agent_Id","Queue_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp",\
"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"
"KERNEL_DISPATCH","Agent 4",0,"k(int)",7,1000,1500,64,1,1,64,1,1
"""


@pytest.mark.parametrize("text", [V1, V2, V3], ids=["v1", "v2", "v3"])
def test_traces_of_all_three_versions(tmp_path, text):
    found = observed(tmp_path, text)
    one = found.kernels[0]
    assert (one.name, one.time_s, one.device) == ("k(int)", pytest.approx(500e-9), 4)
    assert (one.launch.grid[0], one.launch.block[0]) == (64, 64)
    assert found.timelines[0].span_s == pytest.approx(500e-9)
    assert "collect TCC_EA_RDREQ" in one.missing["bytes"]


def test_statistics_of_kernels_and_of_calls(tmp_path):
    head = '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n'
    found = observed(
        tmp_path, head + '"vecCopy(double*)",3,3000,1000,90,900,1100,1\n"hipLaunchKernel",5,50,10,10,1,20,1\n'
    )
    assert [(k.name, k.calls, k.time_s) for k in found.kernels] == [("vecCopy(double*)", 3, pytest.approx(3000e-9))]
    assert [(c.name, c.calls) for c in found.host_calls] == [("hipLaunchKernel", 5)]


def test_copies_of_rocprofv3(tmp_path):
    head = (
        '"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp",'
        '"End_Timestamp"\n'
    )
    found = observed(tmp_path, head + '"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE","Agent 0","Agent 4",1,1000,1800\n')
    assert (found.copies[0].what, found.copies[0].time_s, found.copies[0].device) == ("HtoD", pytest.approx(800e-9), 4)


def test_counters_without_times_are_counters(tmp_path):
    text = '"Index","KernelName","gpu-id","SQ_INSTS_VALU_MFMA_MOPS_F16","FETCH_SIZE","WRITE_SIZE"\n0,"k",1,4,2,1\n'
    one = observed(tmp_path, text).kernels[0]
    assert (one.flops, one.bytes, one.time_s) == ({"fp16": 4 * 512}, 3 * 1024, None)
    assert "time_s" in one.missing


def test_calls_of_hip_alone(tmp_path):
    head = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
    found = observed(tmp_path, head + '"HIP","hipLaunchKernel",1,1,7,1000,1500\n')
    assert [(c.name, c.time_s) for c in found.host_calls] == [("hipLaunchKernel", pytest.approx(500e-9))]
