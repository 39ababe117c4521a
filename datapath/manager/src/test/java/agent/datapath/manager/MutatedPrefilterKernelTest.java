package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.FrameMutator;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The prefilter passes no damaged frame that the stack could take for a packet of a listed source.
 *
 * <p>{@code -Drandom.seed} repeats a run, {@code -Drandom.mutations} sets how many frames it meets.
 */
@KernelTest
class MutatedPrefilterKernelTest {
  private static final int MUTATIONS = Integer.getInteger("random.mutations", 100_000);
  private static final long SEED = Long.getLong("random.seed", 20261122L);
  private static final String DEVICE = "ext0";
  private static final IpAddress LISTED4 = IpAddress.parse("203.0.113.77");
  private static final IpAddress LISTED6 = IpAddress.parse("2001:db8:7::7");
  private static final int ETHERNET_BYTES = 14;
  private static final int TAGS_MAX = 4;

  private final ManagerTestNode node = new ManagerTestNode();
  private final FrameMutator mutator = new FrameMutator(SEED);
  private NetworkNamespace outside;

  @BeforeEach
  void connect() {
    outside = NetworkNamespace.create("outside");
    VethPair.create(node.namespace(), DEVICE, outside, "net0");
  }

  @AfterEach
  void remove() throws IOException {
    outside.close();
    node.close();
  }

  @Test
  void shouldPassNoMutatedFrameOfAListedSource() {
    final byte[][] frames = {
      AttachedPrefilter.frame(LISTED4, 0),
      AttachedPrefilter.frame(LISTED6, 0),
      AttachedPrefilter.frame(LISTED4, 2),
      AttachedPrefilter.frame(LISTED6, 4),
      AttachedPrefilter.frame(IpAddress.parse("198.51.100.1"), 1),
    };
    int dropped = 0;
    try (DatapathManager manager = node.launch(node.context().prefilterDevice(DEVICE));
        AttachedPrefilter attached = new AttachedPrefilter(node)) {
      manager
          .prefilter()
          .add(OptionalLong.empty(), List.of(Prefix.parse("203.0.113.64/26"), Prefix.of(LISTED6)));
      for (int i = 0; i < 2 * MUTATIONS; i++) {
        dropped += check(attached, mutator.mutate(frames[i % frames.length]));
      }
      for (final byte[] frame : frames) {
        for (int length = ETHERNET_BYTES; length <= frame.length; length++) {
          check(attached, Arrays.copyOf(frame, length));
        }
      }
    }
    System.out.printf("random.seed=%d: %d of %d dropped%n", SEED, dropped, 2 * MUTATIONS);
    assertTrue(dropped > MUTATIONS / 2, dropped + " dropped");
  }

  /** Returns 1 for a frame that was dropped. */
  private static int check(AttachedPrefilter attached, byte[] frame) {
    final int verdict = attached.verdict(frame);
    if (mustDrop(frame)) {
      assertEquals(
          AttachedPrefilter.DROP,
          verdict,
          () -> "random.seed=" + SEED + ": " + HexFormat.of().formatHex(frame));
    }
    return verdict == AttachedPrefilter.DROP ? 1 : 0;
  }

  /** Returns whether the source behind any tags is listed, or is behind too many to be read. */
  private static boolean mustDrop(byte[] frame) {
    int at = 12;
    int tags = 0;
    while (at + 2 <= frame.length && (is(frame, at, 0x8100) || is(frame, at, 0x88a8))) {
      at += 4;
      tags++;
    }
    if (tags > TAGS_MAX) {
      return true;
    }
    final int ip = at + 2;
    if (at + 2 > frame.length) {
      return false;
    }
    if (is(frame, at, 0x0800) && ip + 20 <= frame.length) {
      return frame[ip + 12] == (byte) 203
          && frame[ip + 13] == 0
          && frame[ip + 14] == 113
          && (frame[ip + 15] & 0xc0) == 0x40;
    }
    return is(frame, at, 0x86dd)
        && ip + 40 <= frame.length
        && Arrays.equals(frame, ip + 8, ip + 24, LISTED6.toBytes(), 0, 16);
  }

  private static boolean is(byte[] frame, int at, int etherType) {
    return ((frame[at] & 0xff) << 8 | frame[at + 1] & 0xff) == etherType;
  }
}
