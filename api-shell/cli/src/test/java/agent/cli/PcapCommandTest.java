package agent.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.cli.output.Terminal;
import agent.testkit.CannedMonitor;
import agent.testkit.Commands;
import agent.testkit.IpPacket;
import agent.testkit.Packets;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What {@code agentctl pcap} writes: read byte by byte here, and by the tools of Wireshark. */
@Timeout(60)
class PcapCommandTest {
  private static final String ENDED = "Error: the agent closed the event stream\n";
  private static final IpPacket SYN = Packets.ipv4("10.1.0.9", "10.1.0.7").tcp(43_210, 80).syn();

  /** 1970-01-01T00:00:06.000000123Z, which is that of the canned events. */
  private static final long TIME_NS = 6_000_000_123L;

  @TempDir private Path directory;
  private CliFixture agent;
  private CannedMonitor events;
  private Path file;

  /** A block, without its two lengths. */
  private record Block(int type, ByteBuffer body) {}

  @BeforeEach
  void start() throws IOException {
    file = directory.resolve("packets.pcapng");
    agent = new CliFixture();
    final String endpoint =
        """
        {"id":7,"status":{"realized":{"options":{"TraceNotification":"Enabled"}},"networking":
          {"addressing":[{"ipv4":"10.1.0.7","ipv6":"fd00::7"}],
           "interface-index":12,"interface-name":"lxc-web"}}}""";
    agent.on("GET /endpoint/7", endpoint);
    agent.on(
        "GET /endpoint/8",
        """
        {"id":8,"status":{"realized":{"options":{"TraceNotification":"Disabled"}}}}""");
    agent.on("GET /endpoint", "[" + endpoint + "]");
    agent.on("GET /identity", "[]");
    restart(128);
  }

  private void restart(int packetBytes) throws IOException {
    if (events != null) {
      events.close();
    }
    final String socket = agent.address().substring("unix://".length());
    events = CannedMonitor.start(Path.of(socket.replace(".sock", "-monitor.sock")));
    events.capturingHello(packetBytes);
  }

  @AfterEach
  void stop() throws IOException {
    events.close();
    agent.close();
  }

  private static byte[] bytes(IpPacket packet) {
    return packet.bytes();
  }

  private static List<Block> blocks(byte[] file) {
    final ByteBuffer all = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
    final List<Block> blocks = new ArrayList<>();
    while (all.hasRemaining()) {
      final int start = all.position();
      final int type = all.getInt();
      final int length = all.getInt();
      assertEquals(0, length % 4, "a block ends at a multiple of four bytes");
      assertEquals(length, all.getInt(start + length - 4), "both lengths are the same");
      blocks.add(new Block(type, all.slice(start + 8, length - 12).order(ByteOrder.LITTLE_ENDIAN)));
      all.position(start + length);
    }
    return blocks;
  }

  /** Returns the options from the position of a body on by their codes. */
  private static Map<Integer, byte[]> options(ByteBuffer body) {
    final Map<Integer, byte[]> options = new TreeMap<>();
    while (body.hasRemaining()) {
      final int code = body.getShort();
      final byte[] value = new byte[body.getShort() & 0xffff];
      if (code == 0) {
        assertEquals(0, value.length);
        assertFalse(body.hasRemaining(), "the end of options is the last one");
        return options;
      }
      body.get(value);
      body.position((body.position() + 3) / 4 * 4);
      options.put(code, value);
    }
    assertTrue(options.isEmpty(), "options end with the end of options");
    return options;
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static void assertPacket(byte[] expected, String comment, Block block) {
    assertEquals(6, block.type(), "Enhanced Packet Block");
    final ByteBuffer body = block.body();
    assertEquals(0, body.getInt(), "interface");
    assertEquals(TIME_NS, (long) body.getInt() << 32 | body.getInt() & 0xffffffffL);
    assertEquals(expected.length, body.getInt(), "captured length");
    assertEquals(60, body.getInt(), "original length");
    final byte[] packet = new byte[expected.length];
    body.get(packet);
    assertArrayEquals(expected, packet);
    while (body.position() % 4 != 0) {
      assertEquals(0, body.get(), "padding");
    }
    final Map<Integer, byte[]> options = options(body);
    if (comment == null) {
      assertEquals(Map.of(), options);
    } else {
      assertEquals(comment, text(options.get(1)));
      assertArrayEquals(new byte[] {1, 2, 0, 0, 0, 0, 0, 0, 0}, options.get(7), "TC_ACT_SHOT");
      assertEquals(2, options.size());
    }
  }

  @Test
  void shouldWriteEachBlockAsTheDraftSays() throws IOException {
    final byte[] whole = bytes(SYN);
    final byte[] odd = Arrays.copyOf(whole, 33);
    events
        .packet(1, 1, "10.1.0.9", "10.1.0.7", whole)
        .packet(3, 0, "10.1.0.9", "10.1.0.7", odd)
        .packet(1, 2, "10.1.0.9", "10.1.0.7", odd);
    assertEquals("", agent.output(AgentCtl.FAILURE, "pcap --endpoint 7 --write " + file));
    assertEquals(ENDED, agent.err());
    assertEquals(List.of(1 << 1 | 1 << 3 | 1 << 17), events.masks());
    final List<Block> blocks = blocks(Files.readAllBytes(file));
    assertEquals(5, blocks.size());

    final Block section = blocks.get(0);
    assertEquals(0x0a0d0d0a, section.type());
    assertEquals(0x1a2b3c4d, section.body().getInt());
    assertEquals(1, section.body().getShort(), "version 1.0");
    assertEquals(0, section.body().getShort());
    assertEquals(-1, section.body().getLong(), "length of the section");
    assertEquals("agentctl of a development build", text(options(section.body()).get(4)));

    final Block interfaces = blocks.get(1);
    assertEquals(1, interfaces.type());
    assertEquals(1, interfaces.body().getInt(), "Ethernet");
    assertEquals(128, interfaces.body().getInt(), "bytes of a packet at most");
    final Map<Integer, byte[]> options = options(interfaces.body());
    assertEquals("lxc-web", text(options.get(2)));
    assertArrayEquals(new byte[] {9}, options.get(9), "nanoseconds");

    assertPacket(whole, "dropped: policy-denied (egress, endpoint 7)", blocks.get(2));
    assertPacket(odd, null, blocks.get(3));
    assertPacket(odd, "dropped: malformed (egress, endpoint 7)", blocks.get(4));
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
  }

  /** An independent reader: those who write Wireshark have read the draft, too. */
  @Test
  void shouldWriteWhatTheToolsOfWiresharkRead() {
    final IpPacket datagram = Packets.ipv6("fd00::9", "fd00::7").udp(40_000, 53).payloadOf(3);
    events
        .packet(1, 1, "10.1.0.9", "10.1.0.7", Arrays.copyOf(bytes(SYN), 54))
        .packet(3, 0, "fd00::9", "fd00::7", bytes(datagram));
    agent.output(AgentCtl.OK, "pcap --endpoint 7 --count 2 --write " + file);
    assertEquals("2 packets written\n", agent.err());
    final String fields =
        Commands.run(
            "tshark -n -r FILE -T fields -E separator=| -e frame.number -e frame.time_epoch -e frame.len"
                .replace("FILE", file.toString())
                .concat(" -e frame.cap_len -e frame.interface_name -e frame.comment")
                .concat(
                    " -e frame.verdict.ebpf_tc -e ip.dst -e tcp.dstport -e ipv6.dst -e udp.dstport")
                .split(" "));
    assertEquals(
        List.of(
            "1|6.000000123|60|54|lxc-web|dropped: policy-denied (egress, endpoint 7)|2|10.1.0.7|80||",
            "2|6.000000123|60|" + bytes(datagram).length + "|lxc-web|||||fd00::7|53"),
        fields.lines().filter(line -> line.matches("[0-9]+\\|.*")).toList(),
        fields);
    final String about = Commands.run("capinfos", file.toString());
    for (final String line :
        List.of(
            "File type: +Wireshark/\\.\\.\\. - pcapng",
            "File encapsulation: +Ethernet",
            "File timestamp precision: +nanoseconds \\(9\\)",
            "Number of packets: +2",
            "Capture application: +agentctl of a development build",
            " +Name = lxc-web",
            " +Capture length = 128",
            " +Number of packets = 2")) {
      assertTrue(about.lines().anyMatch(each -> each.matches(line)), line + " in " + about);
    }
  }

  @Test
  void shouldWritePacketsToStandardOutput() {
    events.packet(1, 1, "10.1.0.9", "10.1.0.7", bytes(SYN));
    agent.output(AgentCtl.OK, "pcap -e 7 --count 1");
    assertEquals("", agent.err());
    final List<Block> blocks = blocks(agent.out.toByteArray());
    assertPacket(bytes(SYN), "dropped: policy-denied (egress, endpoint 7)", blocks.get(2));
    assertEquals(3, blocks.size());
    agent.output(AgentCtl.OK, "pcap -e 7 --count 1 --write -");
    assertEquals(3, blocks(agent.out.toByteArray()).size());
    agent.on(new Terminal(80, false, true, InstantSource.system()));
    assertUsage("--write: standard output is a terminal; name a file", "--endpoint 7");
  }

  /** Its own programs saw it, or it has an address of the endpoint. */
  @Test
  void shouldWritePacketsOfTheEndpointOnly() {
    events
        .packet(1, 1, "10.1.0.9", "10.1.0.8", bytes(SYN)) // seen by the program of endpoint 7
        .lost(0, 4)
        .packet(1, 1, "10.1.0.7", "10.1.0.8", bytes(SYN))
        .packet(1, 1, "10.1.0.7", "10.1.0.8", bytes(SYN))
        .packet(1, 1, "10.1.0.9", "10.1.0.7", bytes(SYN))
        .packet(1, 1, "10.1.0.9", "10.1.0.7", bytes(SYN));
    assertWritten(5, "-e 7");
    assertEquals("4 events lost: this program reads too slowly\n" + ENDED, agent.err());
    agent.on(
        "GET /endpoint",
        """
        [{"id":8,"status":{"networking":{"addressing":[{"ipv4":"10.1.0.7","ipv6":""}]}}}]""");
    assertWritten(4, "-e 8");
    assertTrue(
        agent
            .err()
            .startsWith(
                "endpoint 8: TraceNotification is not Enabled: forwarded packets are not"
                    + " captured\n"),
        agent.err());
  }

  private void assertWritten(int count, String options) {
    agent.output(AgentCtl.FAILURE, "pcap " + options);
    final long written =
        blocks(agent.out.toByteArray()).stream().filter(block -> block.type() == 6).count();
    assertEquals(count, written, options);
  }

  @Test
  void shouldNameAnInterfaceOfNoEndpointByItsIndex() {
    agent.on("GET /endpoint", "[]");
    events.packet(1, 1, "10.1.0.9", "10.1.0.8", bytes(SYN));
    agent.output(AgentCtl.OK, "pcap -e 7 --count 1");
    final Block description = blocks(agent.out.toByteArray()).get(1);
    description.body().getLong();
    assertEquals("if12", text(options(description.body()).get(2)));
  }

  @Test
  void shouldWriteDropsForTheWantedReasonsOnly() {
    events
        .packet(1, 1, "10.1.0.9", "10.1.0.7", bytes(SYN))
        .packet(1, 2, "10.1.0.9", "10.1.0.7", bytes(SYN));
    assertWritten(1, "-e 7 --drop-reason malformed");
    assertEquals(List.of(1 << 1 | 1 << 17), events.masks(), "no traces are asked for");
    assertWritten(2, "-e 7 --drop-reason malformed --drop-reason policy_denied");
    assertUsage("--drop-reason: 'none-such' is not one of none, ", "-e 7 --drop-reason none-such");
  }

  /**
   * What there is by then is written, and the exit code is that of a success. Where the machine is
   * too busy for the packet to come in time, a longer duration shows the same.
   */
  @Test
  void shouldEndAfterTheDuration() throws Exception {
    int written = 0;
    for (int ms = 300; written != 3 && ms <= 30_000; ms *= 10) {
      restart(128);
      events.packet(1, 1, "10.1.0.9", "10.1.0.7", bytes(SYN)).staysOpen();
      agent.output(AgentCtl.OK, "pcap -e 7 --duration " + ms + "ms");
      written = blocks(agent.out.toByteArray()).size();
    }
    assertEquals(3, written);
  }

  @Test
  void shouldWriteAPacketBeforeTheNextOneComes() throws Exception {
    events.packet(1, 1, "10.1.0.9", "10.1.0.7", bytes(SYN)).staysOpen();
    final FutureTask<String> written =
        new FutureTask<>(() -> agent.output(AgentCtl.OK, "pcap -e 7 --write " + file));
    final Thread command = Thread.ofPlatform().start(written);
    try {
      while (!Files.exists(file) || blocks(Files.readAllBytes(file)).size() < 3) {
        Thread.sleep(10); // until the time limit of this test
      }
      assertFalse(written.isDone());
    } finally {
      command.interrupt();
    }
    written.get();
    assertEquals("1 packets written\n", agent.err());
  }

  /** Such as the next command of a pipe that has ended. */
  @Test
  void shouldEndWhereItsOutputHasNoReader() {
    events.packet(1, 1, "10.1.0.9", "10.1.0.7", bytes(SYN)).staysOpen();
    final PrintStream unread =
        new PrintStream(
            new OutputStream() {
              @Override
              public void write(int value) throws IOException {
                throw new IOException("Broken pipe");
              }
            });
    final List<String> words = List.of("--host", agent.address(), "pcap", "-e", "7");
    assertEquals(AgentCtl.FAILURE, agent.run(unread, new PrintStream(agent.err), Map.of(), words));
  }

  @Test
  void shouldRefuseWhatItCannotDo() throws IOException {
    assertUsage("--endpoint: must be the number of an endpoint", "");
    assertUsage("--endpoint: 'web' is not a whole number", "--endpoint web");
    assertUsage("--count: 0 is not a positive number", "--endpoint 7 --count 0");
    assertUsage("--duration: '0s' is not a positive duration", "--endpoint 7 --duration 0s");
    agent.on("GET /endpoint/9", 404, "\"id: endpoint 9 does not exist\"");
    agent.output(AgentCtl.FAILURE, "pcap -e 9 -w " + file);
    assertTrue(agent.err().contains("endpoint 9 does not exist"), agent.err());
    assertFalse(Files.exists(file));
    agent.output(AgentCtl.FAILURE, "pcap -e 7 -w " + directory.resolve("none/such"));
    assertTrue(agent.err().contains("none/such"), agent.err());
    restart(0);
    agent.output(AgentCtl.FAILURE, "pcap -e 7");
    assertTrue(agent.err().contains("captures no bytes of packets"), agent.err());
  }

  private void assertUsage(String message, String options) {
    agent.output(AgentCtl.USAGE_ERROR, "pcap " + options);
    assertTrue(agent.err().contains(message), agent.err());
  }
}
