package agent.dns.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.NameLookup;
import agent.dns.NameStore;
import agent.dns.Names;
import agent.dns.NamesContext;
import agent.types.IpAddress;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A thousand new names a second: what storing and enforcing them adds to an answer. */
class DnsProxyRateTest {
  private static final int NAMES = 3_000;
  private static final long INTERVAL_NS = 1_000_000;
  private static final long ENFORCEMENT_US = 300;
  private static final long WANTED_MS = 50;

  @TempDir private Path directory;
  private final Queue<Long> enforcedNs = new ConcurrentLinkedQueue<>();
  private volatile Map<String, ? extends Collection<IpAddress>> last = Map.of();

  /** Syncs each group, as the store of the agent does. */
  private static final class Disk implements NameStore {
    private final FileChannel file;
    private long position;
    private final Queue<Long> syncNs = new ConcurrentLinkedQueue<>();

    Disk(Path path) throws IOException {
      file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      file.write(ByteBuffer.allocate(4 << 20));
      file.force(true);
    }

    @Override
    public List<NameLookup> load() {
      return List.of();
    }

    @Override
    public void save(List<NameLookup> lookups) {}

    @Override
    public void append(List<NameLookup> lookups) {
      try {
        position += file.write(ByteBuffer.wrap(lookups.toString().getBytes()), position);
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void sync() {
      try {
        final long startNs = System.nanoTime();
        file.force(false);
        syncNs.add(System.nanoTime() - startNs);
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void compact(Supplier<List<NameLookup>> all) {}
  }

  /** Returns the times from a question to its answer, in order. */
  private static long[] measure(ProxyRig rig, String prefix) throws Exception {
    final long[] sentNs = new long[NAMES];
    final AtomicLongArray tookNs = new AtomicLongArray(NAMES);
    final CountDownLatch answered = new CountDownLatch(NAMES);
    try (ProxyRig.Udp client = rig.new Udp()) {
      Thread.ofPlatform()
          .daemon()
          .start(
              () -> {
                try {
                  while (answered.getCount() > 0) {
                    final int index = DnsQuestion.identifierOf(client.receive());
                    if (tookNs.compareAndSet(index, 0, System.nanoTime() - sentNs[index])) {
                      answered.countDown();
                    }
                  }
                } catch (IOException e) {
                  // The latch tells.
                }
              });
      long next = System.nanoTime();
      for (int i = 0; i < NAMES; i++) {
        next = Math.max(next + INTERVAL_NS, System.nanoTime()); // no burst after a pause
        while (System.nanoTime() < next) {
          LockSupport.parkNanos(Math.max(1, next - System.nanoTime()));
        }
        ask(client, prefix, i, sentNs);
      }
      // A socket that is full loses some, which are asked again as by any client over UDP.
      for (int round = 0; !isAnsweredSoon(answered); round++) {
        assertTrue(round < 10, "answers are lost: " + rig.proxy.counters());
        for (int i = 0; i < NAMES; i++) {
          if (tookNs.get(i) == 0) {
            ask(client, prefix, i, sentNs);
          }
        }
      }
      assertEquals(0, rig.count(DnsCounter.UNENFORCED) + rig.count(DnsCounter.ERROR));
    }
    return IntStream.range(0, NAMES).mapToLong(tookNs::get).sorted().toArray();
  }

  private static void ask(ProxyRig.Udp client, String prefix, int index, long[] sentNs)
      throws IOException {
    final byte[] question = ProxyRig.question(prefix + index + ".example.com.");
    DnsQuestion.short16(question, 0, index);
    sentNs[index] = System.nanoTime();
    client.send(question);
  }

  /** Returns whether all are answered before a second passes without an answer. */
  private static boolean isAnsweredSoon(CountDownLatch answered) throws InterruptedException {
    for (long left = NAMES + 1; left != answered.getCount() && answered.getCount() > 0; ) {
      left = answered.getCount();
      answered.await(1, TimeUnit.SECONDS);
    }
    return answered.getCount() == 0;
  }

  private static void answerWithAddress(ProxyRig rig) {
    rig.server.script =
        (question, reply) -> {
          final String name =
              new org.xbill.DNS.Message(question).getQuestion().getName().toString();
          reply.send(ScriptedServer.answer(question, name + " 60 IN A 192.0.2.7\n"));
        };
  }

  private static long p99Us(Collection<Long> timesNs) {
    final long index = timesNs.size() * 99L / 100;
    return timesNs.stream().sorted().skip(index).findFirst().orElse(0L) / 1_000;
  }

  @Test
  void shouldReleaseAThousandNewNamesASecondSoon() throws Exception {
    final ScheduledExecutorService kernel = Executors.newSingleThreadScheduledExecutor();
    final Disk disk = new Disk(directory.resolve("names"));
    final Names names = Names.open(new NamesContext().store(disk).conclude());
    names.start(
        changed -> {
          last = changed;
          final CompletableFuture<Void> done = new CompletableFuture<>();
          final long startNs = System.nanoTime();
          kernel.schedule(
              () -> {
                enforcedNs.add(System.nanoTime() - startNs);
                done.complete(null);
              },
              ENFORCEMENT_US,
              TimeUnit.MICROSECONDS);
          return done;
        },
        Set::of,
        (name, answer) -> {});
    try (ProxyRig rig = new ProxyRig()) {
      answerWithAddress(rig);
      rig.start(rig.context().gate(names::found));
      measure(rig, "warm");
      disk.syncNs.clear();
      enforcedNs.clear();
      final long[] held = measure(rig, "new");
      final long[] known = measure(rig, "new");
      assertEquals(2 * NAMES, names.list(FakeRedirect.ENDPOINT).size());
      System.out.printf(
          "P99 of new names %d us, of known names %d us; median %d us and %d us; %d groups, their"
              + " P99: sync %d us, enforcement %d us%n",
          held[NAMES * 99 / 100] / 1_000,
          known[NAMES * 99 / 100] / 1_000,
          held[NAMES / 2] / 1_000,
          known[NAMES / 2] / 1_000,
          disk.syncNs.size(),
          p99Us(disk.syncNs),
          p99Us(enforcedNs));
      assertTrue(
          held[NAMES * 99 / 100] < TimeUnit.MILLISECONDS.toNanos(20 * WANTED_MS), "over a second");
      assertTrue(!last.isEmpty());
    } finally {
      names.close();
      kernel.shutdownNow();
    }
  }
}
