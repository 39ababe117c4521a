package agent.node.netlink;

import agent.bindings.net.NetlinkException;
import agent.bindings.net.NetlinkMessageFlyweight;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** Messages of rtnetlink and nfnetlink. */
public final class NetlinkFuzz {
  /** A link, an address, a route, a neighbour, a chain, and the end of a list. */
  public static final List<byte[]> SEEDS =
      List.of(
          message(16, "00000100" + "02000000" + "43000000" + "00000000")
              .with(3, "6c78633100")
              .with(1, "020000000001")
              .with(4, "aa050000")
              .with(18, "09000100" + "7665746800000000")
              .bytes(),
          message(20, "02180000" + "03000000").with(1, "0a010009").with(2, "0a010009").bytes(),
          message(24, "02180000" + "fe020001" + "00000000")
              .with(1, "0a010000")
              .with(4, "03000000")
              .with(5, "0a010001")
              .with(15, "fe000000")
              .bytes(),
          message(28, "02000000" + "03000000" + "02000001")
              .with(1, "0a010009")
              .with(2, "020000000001")
              .bytes(),
          message(32, "02000000" + "00000001" + "00000000").with(15, "fe000000").bytes(),
          message(10 << 8 | 3, "01000000")
              .with(1, "66696c74657200")
              .with(3, "696e70757400")
              .with(4, "08000100" + "00000001")
              .with(5, "00000000")
              .bytes(),
          message(3, "00000000").bytes(),
          message(2, "eaffffff" + "10000000" + "10000500" + "01000000" + "00000000").bytes());

  private static final List<Function<NetlinkMessageFlyweight, Optional<?>>> DECODERS =
      List.of(
          LinkMessage::decode,
          AddressMessage::decode,
          RouteMessage::decode,
          NeighbourMessage::decode,
          RuleMessage::decode,
          ChainMessage::decode);

  private NetlinkFuzz() {}

  /** Reads a datagram with each decoder. */
  public static void fuzzerTestOneInput(byte[] input) {
    for (final Function<NetlinkMessageFlyweight, Optional<?>> decoder : DECODERS) {
      final ByteBuffer datagram = ByteBuffer.wrap(input).order(ByteOrder.nativeOrder());
      final NetlinkMessageFlyweight message = new NetlinkMessageFlyweight();
      message.wrap(datagram, input.length);
      try {
        while (message.next()) {
          decoder.apply(message).ifPresent(Object::toString);
        }
      } catch (NetlinkException refused) {
        // as documented
      }
    }
  }

  private static Message message(int type, String header) {
    final Message message = new Message();
    message.datagram.putInt(0).putShort((short) type).putShort((short) 0).putInt(1).putInt(0);
    message.datagram.put(HexFormat.of().parseHex(header));
    return message;
  }

  /** A message and its attributes, in the order of the bytes of this machine. */
  private static final class Message {
    private final ByteBuffer datagram = ByteBuffer.allocate(512).order(ByteOrder.nativeOrder());

    Message with(int attribute, String value) {
      final byte[] bytes = HexFormat.of().parseHex(value);
      datagram.putShort((short) (4 + bytes.length)).putShort((short) attribute).put(bytes);
      datagram.position(datagram.position() + 3 & ~3);
      return this;
    }

    byte[] bytes() {
      datagram.putInt(0, datagram.position());
      return Arrays.copyOf(datagram.array(), datagram.position());
    }
  }
}
