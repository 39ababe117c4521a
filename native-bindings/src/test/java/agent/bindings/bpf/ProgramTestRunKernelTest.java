package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.bindings.TestObjects;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@KernelTest
class ProgramTestRunKernelTest {
  private static final int LOOPBACK_IFINDEX = 1;
  private static final String PROGRAMS =
      """
      struct sum { __u64 a; __u64 b; __u64 result; };
      SEC("tc") int context(struct __sk_buff *skb)
      {
        __u8 mark = 0x5a;
        bpf_skb_store_bytes(skb, 14, &mark, 1, 0);
        skb->mark = 9;
        return skb->len * 1000 + skb->ifindex;
      }
      SEC("xdp") int shorten(struct xdp_md *context)
      {
        return bpf_xdp_adjust_head(context, 8) ? XDP_ABORTED : XDP_PASS;
      }
      SEC("syscall") int add(struct sum *sum)
      {
        sum->result = sum->a + sum->b;
        return 3;
      }
      """;

  private BpfObject object;
  private final ProgramTestRun run = new ProgramTestRun(1500);

  @BeforeEach
  void load() {
    LibBpf.ensureLoaded();
    object = BpfObject.open(TestObjects.compile(PROGRAMS), "programs");
    object.load();
  }

  @AfterEach
  void close() {
    object.close();
    run.close();
  }

  @Test
  void shouldPassPacketAndInterfaceToTheProgram() {
    run.input(new byte[100]);
    assertEquals(0, run.run(object.program("context"), 100, LOOPBACK_IFINDEX, 1));
    assertEquals(100 * 1000 + LOOPBACK_IFINDEX, run.returnValue());
    assertEquals(100, run.output().byteSize());
    assertEquals(0x5a, run.output().get(JAVA_BYTE, 14));
    assertEquals(0, run.input().get(JAVA_BYTE, 14));
  }

  @Test
  void shouldRepeatAndReportTheTime() {
    run.input(new byte[100]);
    assertEquals(0, run.run(object.program("context"), 100, 0, 10_000));
    assertTrue(run.durationNs() > 0 && run.durationNs() < 100_000, () -> "" + run.durationNs());
  }

  @Test
  void shouldReturnThePacketLengthAfterAnXdpProgram() {
    run.input(new byte[100]);
    assertEquals(0, run.run(object.program("shorten"), 100, 0, 1));
    assertEquals(2, run.returnValue());
    assertEquals(92, run.output().byteSize());
  }

  @Test
  void shouldReturnTheErrorForATooShortPacketAndAnUnknownInterface() {
    assertEquals(-Errno.EINVAL, run.run(object.program("context"), 3, 0, 1));
    assertEquals(-Errno.ENODEV, run.run(object.program("context"), 100, Integer.MAX_VALUE, 1));
  }

  @Test
  void shouldPassTheContextToASyscallProgramAndBack() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment context = arena.allocate(24, 8);
      context.set(JAVA_LONG, 0, 40L);
      context.set(JAVA_LONG, 8, 2L);
      assertEquals(0, run.runSyscall(object.program("add"), context));
      assertEquals(3, run.returnValue());
      assertEquals(42L, context.get(JAVA_LONG, 16));
    }
  }

  @Test
  void shouldAllocateNothing() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment context = arena.allocate(24, 8);
      final BpfProgram packetProgram = object.program("context");
      final BpfProgram syscallProgram = object.program("add");
      final Runnable work =
          () -> {
            run.input().set(JAVA_INT, 0, 1);
            run.run(packetProgram, 100, LOOPBACK_IFINDEX, 1);
            run.run(packetProgram, 100, 0, 1);
            run.runSyscall(syscallProgram, context);
          };

      assertEquals(0, HeapAllocation.steady(20_000, work));
    }
  }
}
