package agent.benchmarks;

import agent.conductor.ThreadPriority;
import agent.testkit.NetworkNamespace;
import agent.testkit.Workload;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A workload that asks for a thousand new names a second, through the DNS proxy of the installed
 * daemon, which releases an answer when the rules use its address; beside the same questions to the
 * same server on a port without DNS rules. The server stands for another machine, and the client
 * takes the time: their threads do not wait for others that use the processors.
 */
final class NamesReport {
  private static final int ROUNDS = 3;
  private static final int NAMES = 2_000;

  /** Asked before the rounds. All names fit into one policy map. */
  private static final int WARM_UP = 8_000;

  private static final long INTERVAL_NS = 1_000_000;
  private static final long GOAL_US = 2_000;
  private static final int RULE_PORT = 53;
  private static final int OPEN_PORT = 5353;
  private static final int HEADER_BYTES = 12;
  private static final int ADDRESS_BYTES = 4;

  private static final String RULES =
      """
      [{"endpointSelector":{"matchLabels":{"app":"client"}},"egress":[
        {"toPorts":[{"ports":[{"port":"53","protocol":"UDP"}],"rules":{"dns":[{"matchPattern":"*"}]}},
          {"ports":[{"port":"5353","protocol":"UDP"}]}]},
        {"toFQDNs":[{"matchPattern":"*.example.com"}],
          "toPorts":[{"ports":[{"port":"8080","protocol":"TCP"}]}]}]}]""";

  private final Report report =
      new Report(
          "1,000 new names a second of one workload over UDP, each with one address that a toFQDNs"
              + " rule selects, median of "
              + ROUNDS
              + " rounds of "
              + NAMES
              + " names",
          "asked",
          "p50",
          "p99",
          "answered",
          "p99 more than p50 of the server",
          "goal");
  private final NetworkNamespace client;
  private int asked;

  private NamesReport(NetworkNamespace client) {
    this.client = client;
  }

  /** Measures the daemon under an installation prefix. */
  static Report run(Path prefix) throws Exception {
    try (RunningDaemon running = new RunningDaemon(prefix.resolve("bin/agent"))) {
      running.until("/endpoint");
      final Workload workload = running.workload(1, "client");
      final NetworkNamespace outside = running.outside();
      running.importRules(RULES);
      ThreadPriority.raise();
      for (final int port : new int[] {RULE_PORT, OPEN_PORT}) {
        final DatagramChannel server =
            outside.run(() -> DatagramChannel.open().bind(new InetSocketAddress(port)));
        Thread.ofPlatform().daemon().start(ThreadPriority.raising(() -> answer(server)));
      }
      final NamesReport names = new NamesReport(workload.namespace());
      names.rows();
      return names.report;
    }
  }

  private void rows() throws Exception {
    final long[] first = ask(RULE_PORT, WARM_UP);
    ask(OPEN_PORT, NAMES);
    final List<long[]> released = new ArrayList<>();
    final List<long[]> direct = new ArrayList<>();
    for (int round = 0; round < ROUNDS; round++) {
      direct.add(ask(OPEN_PORT, NAMES));
      released.add(ask(RULE_PORT, NAMES));
    }
    final double server = percentileUs(direct, 50);
    row("the server, without DNS rules", direct, ROUNDS * NAMES, server, "");
    final double more = percentileUs(released, 99) - server;
    row(
        "the proxy, which enforces each address first",
        released,
        ROUNDS * NAMES,
        server,
        GOAL_US / 1000 + " ms, " + (more <= GOAL_US ? "met" : "missed"));
    row("its first " + WARM_UP / 1000 + " s after the start", List.of(first), WARM_UP, server, "");
  }

  private void row(String name, List<long[]> rounds, int names, double server, String goal) {
    report.row(
        name,
        "%,.0f us".formatted(percentileUs(rounds, 50)),
        "%,.0f us".formatted(percentileUs(rounds, 99)),
        "%,d of %,d".formatted(rounds.stream().mapToInt(round -> round.length).sum(), names),
        "%,.0f us".formatted(percentileUs(rounds, 99) - server),
        goal);
  }

  /** The median over the rounds. */
  private static double percentileUs(List<long[]> rounds, int percent) {
    return Report.median(
        rounds.stream().mapToDouble(all -> all[all.length * percent / 100] / 1000.0).toArray());
  }

  /**
   * Returns the times from a question to its answer in order; what is lost or refused is not in it.
   */
  private long[] ask(int port, int count) throws Exception {
    final long[] sentNs = new long[count];
    final long[] tookNs = new long[count];
    final CountDownLatch answered = new CountDownLatch(count);
    final DatagramChannel channel =
        client.run(
            () ->
                DatagramChannel.open().connect(new InetSocketAddress(RunningDaemon.OUTSIDE, port)));
    try {
      final Thread receiver =
          Thread.ofPlatform()
              .daemon()
              .start(ThreadPriority.raising(() -> receive(channel, sentNs, tookNs, answered)));
      long nextNs = System.nanoTime();
      for (int i = 0; i < count; i++) {
        final ByteBuffer question = question(i, asked++);
        nextNs = Math.max(nextNs + INTERVAL_NS, System.nanoTime());
        for (long left = INTERVAL_NS; left > 0; left = nextNs - System.nanoTime()) {
          LockSupport.parkNanos(left);
        }
        sentNs[i] = System.nanoTime();
        channel.write(question);
      }
      answered.await(3, TimeUnit.SECONDS);
      channel.close();
      receiver.join();
    } finally {
      channel.close();
    }
    return Arrays.stream(tookNs).filter(time -> time > 0).sorted().toArray();
  }

  private static void receive(
      DatagramChannel channel, long[] sentNs, long[] tookNs, CountDownLatch answered) {
    final ByteBuffer message = ByteBuffer.allocateDirect(512);
    try {
      while (answered.getCount() > 0) {
        message.clear();
        final int length = channel.read(message);
        final int index = message.getShort(0) & 0xffff;
        if (length > HEADER_BYTES && message.getShort(6) == 1) {
          tookNs[index] = System.nanoTime() - sentNs[index];
        }
        answered.countDown();
      }
    } catch (IOException e) {
      // The channel is closed: what is left is lost.
    }
  }

  private static ByteBuffer question(int id, int number) {
    final ByteBuffer message = ByteBuffer.allocateDirect(512);
    message.putShort((short) id).putShort((short) 0x0100).putShort((short) 1);
    message.putShort((short) 0).putShort((short) 0).putShort((short) 0);
    for (final String label : ("n" + number + ".example.com").split("\\.")) {
      message.put((byte) label.length()).put(label.getBytes(StandardCharsets.US_ASCII));
    }
    return message.put((byte) 0).putShort((short) 1).putShort((short) 1).flip();
  }

  /** Answers each question with another address. */
  private static void answer(DatagramChannel server) {
    final ByteBuffer message = ByteBuffer.allocateDirect(512);
    int number = 0;
    try {
      while (true) {
        message.clear();
        final SocketAddress from = server.receive(message);
        message.putShort(2, (short) 0x8180).putShort(6, (short) 1);
        message.putShort((short) 0xc00c).putShort((short) 1).putShort((short) 1).putInt(60);
        message.putShort((short) ADDRESS_BYTES).putInt(198 << 24 | 18 << 16 | number++);
        server.send(message.flip(), from);
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
