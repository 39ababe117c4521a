package agent.launcher.process;

import agent.launcher.process.CrashNode.CrashWorkload;
import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Numbered UDP datagrams between the workloads, and from the sources in front of the prefilter
 * device to the node: each that the rules and the deny list admit arrives, no other one does. No
 * datagram is answered, so that no reply opens the other direction of a denied flow.
 */
final class CrashPackets implements AutoCloseable {
  static final List<Integer> PORTS = List.of(5353, 5454);
  private static final int NODE_PORT = 6000;
  private static final int REPEATED = 2;
  private static final long LONGEST_MS = 15_000;
  private static final long RESEND_MS = 50;

  private final CrashNode node;
  private final Selector selector = Selector.open();
  private final List<DatagramChannel> open = new ArrayList<>();
  private final List<DatagramChannel> outside = new ArrayList<>();
  private final Set<Long> arrived = ConcurrentHashMap.newKeySet();
  private final Thread receiver = new Thread(this::receive, "crash-packets");
  private volatile boolean isClosed;
  private long next;

  /** One datagram and whether it has to arrive. */
  private record Probe(
      long number, DatagramChannel from, InetSocketAddress to, boolean passes, String what) {
    void send() {
      try {
        from.send(ByteBuffer.allocate(Long.BYTES).putLong(number).flip(), to);
      } catch (IOException unsent) {
        // A datagram that has to arrive is sent again.
      }
    }
  }

  /** Opens the receivers, which stay open, and the sources outside the node. */
  CrashPackets(CrashNode node) throws Exception {
    this.node = node;
    for (final CrashWorkload workload : node.workloads()) {
      for (final int port : PORTS) {
        listen(workload.namespace(), port);
      }
    }
    listen(node.node().namespace(), NODE_PORT);
    for (int i = 0; i < CrashNode.SOURCES; i++) {
      outside.add(bound(node.outside(), CrashNode.source4(i), 0));
      outside.add(bound(node.outside(), CrashNode.source6(i), 0));
    }
    open.addAll(outside);
    receiver.setDaemon(true);
    receiver.start();
  }

  private void listen(NetworkNamespace in, int port) throws Exception {
    final DatagramChannel channel = bound(in, "::", port);
    open.add(channel);
    channel.configureBlocking(false).register(selector, SelectionKey.OP_READ);
  }

  private static DatagramChannel bound(NetworkNamespace in, String address, int port)
      throws Exception {
    return in.run(
        () ->
            DatagramChannel.open()
                .bind(new InetSocketAddress(InetAddress.ofLiteral(address), port)));
  }

  private void receive() {
    final ByteBuffer buffer = ByteBuffer.allocate(64);
    while (!isClosed) {
      try {
        selector.select(
            key -> {
              try {
                while (((DatagramChannel) key.channel()).receive(buffer.clear()) != null) {
                  arrived.add(buffer.getLong(0));
                }
              } catch (IOException closed) {
                key.cancel();
              }
            });
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /** Sends a datagram for each flow that the model knows; returns what differs from the model. */
  List<String> differences() throws Exception {
    final Map<Integer, DatagramChannel> senders = new HashMap<>();
    try {
      final List<Probe> probes = new ArrayList<>();
      addWorkloads(probes, senders);
      addSources(probes);
      return differences(probes);
    } finally {
      for (final DatagramChannel sender : senders.values()) {
        sender.close();
      }
    }
  }

  private void addWorkloads(List<Probe> probes, Map<Integer, DatagramChannel> senders)
      throws Exception {
    final List<CrashWorkload> workloads =
        node.withEndpoint().stream().filter(workload -> !workload.isWithoutAddress()).toList();
    for (final CrashWorkload from : workloads) {
      // A port of its own in each round, so that no flow of another round vouches for this one.
      final DatagramChannel sender = bound(from.namespace(), "::", 0);
      senders.put(from.number(), sender);
      for (final CrashWorkload to : workloads) {
        for (final int port : PORTS) {
          if (from != to) {
            final boolean passes =
                node.isAdmitted(from.endpoint().known(), to.endpoint().known(), port);
            probes.add(
                probe(
                    sender,
                    to.ipv4(),
                    port,
                    passes,
                    from.endpoint().known() + " to " + to.endpoint().known()));
            probes.add(
                probe(
                    sender,
                    to.ipv6(),
                    port,
                    passes,
                    from.endpoint().known() + " to " + to.endpoint().known()));
          }
        }
      }
    }
  }

  private void addSources(List<Probe> probes) {
    final Set<String> deny = node.denyList().known().deny();
    for (int i = 0; i < CrashNode.SOURCES; i++) {
      final String source4 = CrashNode.source4(i) + "/32";
      final String source6 = CrashNode.source6(i) + "/128";
      probes.add(
          probe(outside.get(2 * i), CrashNode.NODE4, NODE_PORT, !deny.contains(source4), source4));
      probes.add(
          probe(
              outside.get(2 * i + 1),
              CrashNode.NODE6,
              NODE_PORT,
              !deny.contains(source6),
              source6));
    }
  }

  private Probe probe(DatagramChannel from, String address, int port, boolean passes, String what) {
    final InetSocketAddress to = new InetSocketAddress(InetAddress.ofLiteral(address), port);
    return new Probe(++next, from, to, passes, what + " at " + address + " port " + port);
  }

  private List<String> differences(List<Probe> probes) throws InterruptedException {
    for (int i = 0; i < REPEATED; i++) {
      probes.forEach(Probe::send);
    }
    final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LONGEST_MS);
    long resendAt = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(RESEND_MS);
    List<Probe> missing = missing(probes);
    while (!missing.isEmpty() && System.nanoTime() < deadline) {
      Thread.sleep(2);
      missing = missing(missing);
      if (System.nanoTime() > resendAt) {
        missing.forEach(Probe::send);
        resendAt = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(RESEND_MS);
      }
    }
    // What was sent before the datagrams that arrived has arrived, too, or was dropped.
    Thread.sleep(5);
    final List<String> differences = new ArrayList<>();
    for (final Probe probe : probes) {
      if (probe.passes() != arrived.contains(probe.number())) {
        differences.add(
            "packet of " + probe.what() + (probe.passes() ? " does not arrive" : " arrives"));
      }
    }
    arrived.clear();
    return differences;
  }

  private List<Probe> missing(List<Probe> probes) {
    return probes.stream()
        .filter(probe -> probe.passes() && !arrived.contains(probe.number()))
        .toList();
  }

  @Override
  public void close() throws IOException {
    isClosed = true;
    selector.close();
    for (final DatagramChannel channel : open) {
      channel.close();
    }
  }
}
