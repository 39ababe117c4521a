package agent.testkit;

import java.util.Arrays;
import java.util.Random;

/**
 * Damages frames at random: flipped bits, overwritten fields, cut ends, wrong lengths, inserted
 * tags, options and extension headers, other EtherTypes, fragments that overlap.
 */
public final class FrameMutator {
  private static final int ETHERNET_BYTES = 14;
  private static final int[] ETHERTYPES = {
    Packets.ETHERTYPE_IPV4,
    Packets.ETHERTYPE_IPV6,
    Packets.ETHERTYPE_VLAN,
    Packets.ETHERTYPE_SERVICE_VLAN,
    0x8847,
    0x88cc,
    0
  };
  private static final int[] NEXT_HEADERS = {0, 6, 17, 43, 44, 51, 58, 59, 60, 132, 135, 253};
  private static final int[] BOUNDARIES = {0, 1, 4, 5, 6, 15, 16, 20, 40, 0x7f, 0x80, 0xfe, 0xff};

  private final Random random;

  /** Creates a mutator; the same seed gives the same frames. */
  public FrameMutator(long seed) {
    random = new Random(seed);
  }

  /** Returns a frame with one to three damages. */
  public byte[] mutate(byte[] frame) {
    byte[] mutated = frame.clone();
    for (int damages = 1 + random.nextInt(3); damages > 0; damages--) {
      mutated = damage(mutated);
    }
    return mutated;
  }

  private byte[] damage(byte[] frame) {
    final boolean isIpv6 = frame[12] == (byte) 0x86;
    switch (random.nextInt(11)) {
      case 0 -> frame[random.nextInt(frame.length)] ^= (byte) (1 << random.nextInt(8));
      case 1, 2 -> frame[header(frame)] ^= (byte) (1 << random.nextInt(8));
      case 3 -> frame[header(frame)] = (byte) random.nextInt(256);
      case 4 -> frame[header(frame)] = (byte) BOUNDARIES[random.nextInt(BOUNDARIES.length)];
      case 5 -> {
        return Arrays.copyOf(frame, ETHERNET_BYTES + random.nextInt(frame.length - 13));
      }
      case 6 -> put16(frame, ETHERNET_BYTES + (isIpv6 ? 4 : 2), random.nextInt(frame.length + 20));
      case 7 -> {
        return insert(frame, 12, tag());
      }
      case 8 -> put16(frame, 12, ETHERTYPES[random.nextInt(ETHERTYPES.length)]);
      case 9 -> put16(frame, ETHERNET_BYTES + (isIpv6 ? 42 : 6), fragment());
      default -> {
        return isIpv6 ? withExtension(frame) : withOptions(frame);
      }
    }
    return frame;
  }

  /** Returns an offset in the headers, but for the MAC addresses. */
  private int header(byte[] frame) {
    return Math.min(frame.length - 1, 12 + random.nextInt(110));
  }

  /** More fragments or not, at an offset that is most often small, so that parts overlap. */
  private int fragment() {
    return random.nextInt(8) | random.nextInt(4) << 12;
  }

  private byte[] tag() {
    final int type = random.nextBoolean() ? Packets.ETHERTYPE_VLAN : Packets.ETHERTYPE_SERVICE_VLAN;
    return new byte[] {(byte) (type >>> 8), (byte) type, 0, (byte) random.nextInt(3)};
  }

  /** Inserts options, and counts them in the header length and the total length or not. */
  private byte[] withOptions(byte[] frame) {
    final int words = 1 + random.nextInt(10);
    final byte[] options = new byte[words * 4];
    random.nextBytes(options);
    final byte[] longer = insert(frame, ETHERNET_BYTES + 20, options);
    if (random.nextInt(4) != 0) {
      longer[ETHERNET_BYTES] = (byte) (0x40 | Math.min(15, 5 + words));
      add16(longer, ETHERNET_BYTES + 2, words * 4);
    }
    return longer;
  }

  /** Inserts an extension header, whose length and next header may be wrong. */
  private byte[] withExtension(byte[] frame) {
    final byte[] header = new byte[8 * (1 + random.nextInt(2))];
    final byte[] longer = insert(frame, ETHERNET_BYTES + 40, header);
    if (longer.length > ETHERNET_BYTES + 41) {
      longer[ETHERNET_BYTES + 40] =
          random.nextInt(4) == 0
              ? (byte) NEXT_HEADERS[random.nextInt(NEXT_HEADERS.length)]
              : longer[ETHERNET_BYTES + 6];
      longer[ETHERNET_BYTES + 41] = (byte) (header.length / 8 - 1 + random.nextInt(4) / 3);
      longer[ETHERNET_BYTES + 6] = (byte) NEXT_HEADERS[random.nextInt(NEXT_HEADERS.length)];
      add16(longer, ETHERNET_BYTES + 4, header.length);
    }
    return longer;
  }

  private static byte[] insert(byte[] frame, int offset, byte[] bytes) {
    final int at = Math.min(offset, frame.length);
    final byte[] longer = Arrays.copyOf(frame, frame.length + bytes.length);
    System.arraycopy(frame, at, longer, at + bytes.length, frame.length - at);
    System.arraycopy(bytes, 0, longer, at, bytes.length);
    return longer;
  }

  private static void add16(byte[] frame, int offset, int value) {
    if (offset + 1 < frame.length) {
      put16(frame, offset, ((frame[offset] & 0xff) << 8 | frame[offset + 1] & 0xff) + value);
    }
  }

  private static void put16(byte[] frame, int offset, int value) {
    if (offset + 1 < frame.length) {
      frame[offset] = (byte) (value >>> 8);
      frame[offset + 1] = (byte) value;
    }
  }
}
