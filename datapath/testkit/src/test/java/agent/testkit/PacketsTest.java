package agent.testkit;

import static agent.testkit.Packets.ipv4;
import static agent.testkit.Packets.ipv6;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

class PacketsTest {
  @Test
  void shouldBuildTheBytesOfAnIpv4Syn() {
    final byte[] expected =
        HexFormat.of()
            .parseHex(
                "020000000002020000000001080045000028000100004006"
                    + "66cd0a0000010a0000027a690050000003e8000000005002ffff1d3f0000");
    assertArrayEquals(expected, ipv4("10.0.0.1", "10.0.0.2").tcp(31337, 80).syn().bytes());
  }

  @Test
  void shouldReadBackWhatItBuilt() {
    final ParsedPacket packet =
        ParsedPacket.of(
            ipv6("fd00::1", "fd00::2")
                .vlan(7)
                .serviceVlan(9)
                .extension(IpPacket.HOP_BY_HOP, 2)
                .extension(IpPacket.DESTINATION_OPTIONS, 1)
                .udp(53, 5353)
                .payload("question")
                .ttl(3)
                .bytes());
    assertEquals(List.of(7, 9), packet.vlans());
    assertEquals("fd00:0:0:0:0:0:0:1", packet.source());
    assertEquals(17, packet.protocol());
    assertEquals(53, packet.sourcePort());
    assertEquals(5353, packet.destinationPort());
    assertEquals(3, packet.ttl());
    assertArrayEquals("question".getBytes(), packet.payload());
    assertTrue(packet.checksumsAreRight());
  }

  @Test
  void shouldDetectAWrongChecksum() {
    for (final byte[] frame :
        List.of(
            ipv4("10.0.0.1", "10.0.0.2").tcp(1, 2).ack().payload("x").bytes(),
            ipv4("10.0.0.1", "10.0.0.2").echoRequest(4, 5).bytes(),
            ipv6("fd00::1", "fd00::2").echoRequest(4, 5).bytes())) {
      assertTrue(ParsedPacket.of(frame).checksumsAreRight());
      frame[frame.length - 1] ^= 1;
      assertFalse(ParsedPacket.of(frame).checksumsAreRight());
    }
  }

  @Test
  void shouldCutADatagramIntoFragmentsOfBothFamilies() {
    for (final List<byte[]> frames :
        List.of(
            ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).payloadOf(100).id(77).fragments(48),
            ipv6("fd00::1", "fd00::2").udp(1, 2).payloadOf(100).id(77).fragments(48))) {
      final List<ParsedPacket> parts = frames.stream().map(ParsedPacket::of).toList();
      assertEquals(
          List.of(0, 48, 96), parts.stream().map(ParsedPacket::fragmentOffsetBytes).toList());
      assertEquals(
          List.of(true, true, false), parts.stream().map(ParsedPacket::moreFragments).toList());
      assertEquals(108 - 96, parts.getLast().payload().length);
      assertEquals(2, parts.getFirst().destinationPort());
    }
  }

  @Test
  void shouldEmbedTheOffendingPacketInAnIcmpError() {
    final ParsedPacket error =
        ParsedPacket.of(
            ipv4("10.0.0.9", "10.0.0.1")
                .icmpError(3, 4, ipv4("10.0.0.1", "10.0.0.2").options(1, 1).udp(7, 9))
                .bytes());
    assertEquals(3, error.icmpType());
    assertEquals(4, error.icmpCode());
    assertEquals(4 + 24 + 8, error.payload().length);
    assertEquals(0x46, error.payload()[4]);
  }

  @Test
  void shouldSolicitANeighbourByItsGroup() {
    final ParsedPacket packet =
        ParsedPacket.of(
            Packets.neighbourSolicitation("02:00:00:00:00:01", "fd00::1", "fd00::1:2:3").bytes());
    assertEquals("33:33:ff:02:00:03", packet.destinationMac());
    assertEquals(135, packet.icmpType());
    assertEquals(255, packet.ttl());
    assertTrue(packet.checksumsAreRight());
  }
}
