package agent.datapath.programs.scenario;

import static org.junit.jupiter.api.Assumptions.abort;

import agent.bindings.Errno;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_test_run_opts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Runs a program on a packet with the checksum of its bytes (CHECKSUM_COMPLETE), as some devices
 * deliver it. The kernel compares the checksum that the program leaves with the bytes that it
 * leaves (Linux 6.11 or newer).
 */
final class ChecksummedRun {
  private static final int BPF_F_TEST_SKB_CHECKSUM_COMPLETE = 1 << 2;
  private static final int ROOM = 256;

  private ChecksummedRun() {}

  /** Returns 0, or -EBADMSG where the program leaves a wrong checksum. */
  static int run(BpfProgram program, byte[] frame) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment options = bpf_test_run_opts.allocate(arena);
      bpf_test_run_opts.sz(options, bpf_test_run_opts.sizeof());
      bpf_test_run_opts.data_in(options, arena.allocateFrom(ValueLayout.JAVA_BYTE, frame));
      bpf_test_run_opts.data_size_in(options, frame.length);
      bpf_test_run_opts.data_out(options, arena.allocate(frame.length + ROOM));
      bpf_test_run_opts.data_size_out(options, frame.length + ROOM);
      bpf_test_run_opts.repeat(options, 1);
      bpf_test_run_opts.flags(options, BPF_F_TEST_SKB_CHECKSUM_COMPLETE);
      final int result = Libbpf.bpf_prog_test_run_opts(program.fd(), options);
      if (result == -Errno.EINVAL) {
        System.out.println("skipped: BPF_PROG_TEST_RUN with a checksum needs Linux 6.11");
        abort("Linux 6.11 or newer is needed");
      }
      return result;
    }
  }
}
