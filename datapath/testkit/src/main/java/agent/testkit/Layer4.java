package agent.testkit;

import static agent.testkit.Packets.put16;
import static agent.testkit.Packets.put32;

import java.io.ByteArrayOutputStream;
import java.util.zip.CRC32C;

/** The content of an IP packet. */
sealed interface Layer4 {
  int protocol();

  /** Returns header and payload with the checksum for these addresses. */
  byte[] bytes(byte[] source, byte[] destination, byte[] payload);

  /** TCP with the smallest header (RFC 9293). */
  final class Tcp implements Layer4 {
    static final int FIN = 1;
    static final int SYN = 2;
    static final int RST = 4;
    static final int ACK = 16;
    int flags;
    int sequence = 1000;
    int acknowledged = 2000;
    int window = 65535;
    private final int sourcePort;
    private final int destinationPort;

    Tcp(int sourcePort, int destinationPort) {
      this.sourcePort = sourcePort;
      this.destinationPort = destinationPort;
    }

    @Override
    public int protocol() {
      return 6;
    }

    @Override
    public byte[] bytes(byte[] source, byte[] destination, byte[] payload) {
      final ByteArrayOutputStream out = new ByteArrayOutputStream();
      put16(out, sourcePort);
      put16(out, destinationPort);
      put32(out, sequence);
      put32(out, (flags & ACK) != 0 ? acknowledged : 0);
      out.write(5 << 4);
      out.write(flags);
      put16(out, window);
      put32(out, 0);
      out.writeBytes(payload);
      return withChecksum(out.toByteArray(), 16, source, destination, 6);
    }
  }

  /** UDP (RFC 768). */
  record Udp(int sourcePort, int destinationPort) implements Layer4 {
    @Override
    public int protocol() {
      return 17;
    }

    @Override
    public byte[] bytes(byte[] source, byte[] destination, byte[] payload) {
      final ByteArrayOutputStream out = new ByteArrayOutputStream();
      put16(out, sourcePort);
      put16(out, destinationPort);
      put16(out, 8 + payload.length);
      put16(out, 0);
      out.writeBytes(payload);
      return withChecksum(out.toByteArray(), 6, source, destination, 17);
    }
  }

  /** The common header of SCTP, with its CRC32c (RFC 9260, section 6.8). */
  record Sctp(int sourcePort, int destinationPort) implements Layer4 {
    @Override
    public int protocol() {
      return 132;
    }

    @Override
    public byte[] bytes(byte[] source, byte[] destination, byte[] payload) {
      final ByteArrayOutputStream out = new ByteArrayOutputStream();
      put16(out, sourcePort);
      put16(out, destinationPort);
      put32(out, 1);
      put32(out, 0);
      out.writeBytes(payload);
      final byte[] bytes = out.toByteArray();
      final CRC32C crc = new CRC32C();
      crc.update(bytes);
      final int value = Integer.reverseBytes((int) crc.getValue());
      for (int i = 0; i < 4; i++) {
        bytes[8 + i] = (byte) (value >>> 24 - 8 * i);
      }
      return bytes;
    }
  }

  /** ICMP (RFC 792) or ICMPv6 (RFC 4443). */
  record Icmp(boolean isIpv6, int type, int code) implements Layer4 {
    @Override
    public int protocol() {
      return isIpv6 ? 58 : 1;
    }

    @Override
    public byte[] bytes(byte[] source, byte[] destination, byte[] payload) {
      final ByteArrayOutputStream out = new ByteArrayOutputStream();
      out.write(type);
      out.write(code);
      put16(out, 0);
      out.writeBytes(payload);
      final byte[] bytes = out.toByteArray();
      if (isIpv6) {
        return withChecksum(bytes, 2, source, destination, 58);
      }
      final int checksum = Checksums.fold(Checksums.sum(bytes, 0, bytes.length));
      bytes[2] = (byte) (checksum >>> 8);
      bytes[3] = (byte) checksum;
      return bytes;
    }
  }

  /** The payload without a header. */
  record Raw(int protocol) implements Layer4 {
    @Override
    public byte[] bytes(byte[] source, byte[] destination, byte[] payload) {
      return payload.clone();
    }
  }

  private static byte[] withChecksum(
      byte[] bytes, int at, byte[] source, byte[] destination, int protocol) {
    final long sum =
        Checksums.pseudoHeader(source, destination, protocol, bytes.length)
            + Checksums.sum(bytes, 0, bytes.length);
    final int folded = Checksums.fold(sum);
    final int checksum = folded == 0 && protocol == 17 ? 0xffff : folded;
    bytes[at] = (byte) (checksum >>> 8);
    bytes[at + 1] = (byte) checksum;
    return bytes;
  }
}
