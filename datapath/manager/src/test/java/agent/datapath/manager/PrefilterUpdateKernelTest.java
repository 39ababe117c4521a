package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.Prefilter;
import agent.testkit.KernelTest;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * While the list changes at random, another thread asks the attached program without pause: a
 * source that is on the list before and after each change never passes, and one that is on no list
 * never is dropped. The prefixes that come and go cover those that stay, lie in them, and share
 * their cells.
 */
@KernelTest
@Timeout(120)
class PrefilterUpdateKernelTest {
  private static final String DEVICE = "up0";
  private static final int CHANGES = 60;
  private static final int STAYING = 300;
  private static final int CHANGING = 400;

  private final Random random = new Random(20261122);
  private ManagerTestNode node;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    VethPair.create(node.namespace(), DEVICE, node.namespace(), "net0");
  }

  @AfterEach
  void remove() throws IOException {
    node.close();
  }

  @Test
  void shouldNeitherPassWhatStaysOnTheListNorDropWhatIsOnNone() throws Exception {
    final List<Prefix> staying = prefixes(STAYING, false);
    final List<Prefix> changing = prefixes(CHANGING, true);
    changing.removeAll(staying);
    final List<IpAddress> denied = new ArrayList<>();
    for (final Prefix prefix : staying) {
      denied.add(prefix.address());
      denied.add(prefix.last());
    }
    final List<IpAddress> free = free(staying, changing);
    try (DatapathManager manager = node.launch(node.context().prefilterDevice(DEVICE));
        AttachedPrefilter attached = new AttachedPrefilter(node)) {
      manager.prefilter().add(OptionalLong.empty(), staying);
      final AtomicBoolean stop = new AtomicBoolean();
      final CompletableFuture<Long> asked =
          CompletableFuture.supplyAsync(() -> ask(attached, denied, free, stop));
      try {
        change(manager.prefilter(), changing, asked);
      } finally {
        stop.set(true);
      }
      final long rounds = asked.get(60, TimeUnit.SECONDS);
      assertTrue(rounds > CHANGES / 2, rounds + " rounds over all sources");
    }
  }

  private void change(Prefilter prefilter, List<Prefix> changing, CompletableFuture<Long> asked) {
    List<Prefix> listed = new ArrayList<>();
    for (int i = 0; i < CHANGES && !asked.isDone(); i++) {
      if (listed.isEmpty()) {
        Collections.shuffle(changing, random);
        listed = new ArrayList<>(changing.subList(0, 1 + random.nextInt(changing.size())));
        prefilter.add(OptionalLong.empty(), listed);
      } else {
        final List<Prefix> part = listed.subList(0, 1 + random.nextInt(listed.size()));
        prefilter.remove(OptionalLong.empty(), List.copyOf(part));
        part.clear();
      }
    }
  }

  /** Asks for all sources again and again; returns how often. */
  private static long ask(
      AttachedPrefilter attached,
      List<IpAddress> denied,
      List<IpAddress> free,
      AtomicBoolean stop) {
    final byte[][] deniedFrames = frames(denied);
    final byte[][] freeFrames = frames(free);
    long rounds = 0;
    while (!stop.get()) {
      for (int i = 0; i < deniedFrames.length; i++) {
        final IpAddress source = denied.get(i);
        assertEquals(AttachedPrefilter.DROP, attached.verdict(deniedFrames[i]), source::toString);
      }
      for (int i = 0; i < freeFrames.length; i++) {
        final IpAddress source = free.get(i);
        assertEquals(AttachedPrefilter.PASS, attached.verdict(freeFrames[i]), source::toString);
      }
      rounds++;
    }
    return rounds;
  }

  private static byte[][] frames(List<IpAddress> sources) {
    return sources.stream()
        .map(source -> AttachedPrefilter.frame(source, 0))
        .toArray(byte[][]::new);
  }

  /** Returns addresses of the same networks that no prefix covers. */
  private List<IpAddress> free(List<Prefix> staying, List<Prefix> changing) {
    final List<IpAddress> free = new ArrayList<>();
    while (free.size() < STAYING) {
      final IpAddress address = address(free.size() % 2 == 0);
      if (staying.stream().noneMatch(prefix -> prefix.contains(address))
          && changing.stream().noneMatch(prefix -> prefix.contains(address))) {
        free.add(address);
      }
    }
    return free;
  }

  /** Returns prefixes in the cells, and one in ten that covers others and whole cells. */
  private List<Prefix> prefixes(int count, boolean hasShort) {
    final List<Prefix> prefixes = new ArrayList<>();
    while (prefixes.size() < count) {
      final boolean isIpv4 = random.nextBoolean();
      final boolean isShort = hasShort && random.nextInt(10) == 0;
      final int length;
      if (isIpv4) {
        length = isShort ? 20 + random.nextInt(5) : 25 + random.nextInt(8);
      } else {
        length = isShort ? 23 + random.nextInt(13) : 34 + random.nextInt(63);
      }
      final Prefix prefix = Prefix.of(address(isIpv4), length);
      if (!prefixes.contains(prefix)) {
        prefixes.add(prefix);
      }
    }
    return prefixes;
  }

  /** Returns an address of 512 cells of 10.0.0.0/8, or of 64 cells of fd00::/8. */
  private IpAddress address(boolean isIpv4) {
    if (isIpv4) {
      return IpAddress.ofIpv4(10 << 24 | random.nextInt(8) << 20 | random.nextInt(1 << 14));
    }
    final long cell = 0xfdL << 56 | (long) random.nextInt(64) << 40;
    final long middle = (long) random.nextInt(8) << 29 | (long) random.nextInt(4) << 13;
    return IpAddress.ofIpv6(cell | middle, random.nextLong());
  }
}
