package agent.node.netlink;

import agent.bindings.net.NetlinkAttributeFlyweight;
import agent.bindings.net.NetlinkMessageFlyweight;
import agent.bindings.net.NetlinkRequest;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * A named counter of nftables, in NFT_MSG_NEWOBJ messages (NFTA_OBJ_* and NFTA_COUNTER_* of {@code
 * linux/netfilter/nf_tables.h}). Numbers are in network byte order there.
 *
 * @param table the name of its table
 * @param name its name
 * @param packets how many it has counted
 */
public record CounterMessage(String table, String name, long packets) {
  private static final int NFT_MSG_NEWOBJ = 18;
  private static final int NFT_MSG_GETOBJ = 19;
  private static final int NFT_OBJECT_COUNTER = 1;
  private static final int NFTA_OBJ_TABLE = 1;
  private static final int NFTA_OBJ_NAME = 2;
  private static final int NFTA_OBJ_TYPE = 3;
  private static final int NFTA_OBJ_DATA = 4;
  private static final int NFTA_COUNTER_PACKETS = 2;

  static NetlinkRequest list() {
    return NetfilterNetlink.request(
        "nftables counters: list", NFT_MSG_GETOBJ, NetlinkRequest.NLM_F_DUMP);
  }

  /**
   * Decodes an answer.
   *
   * @return the counter, or empty for another object and for a message of another type
   * @throws agent.bindings.net.NetlinkException where the message is malformed
   */
  static Optional<CounterMessage> decode(NetlinkMessageFlyweight message) {
    if (message.type() != NetfilterNetlink.messageType(NFT_MSG_NEWOBJ)) {
      return Optional.empty();
    }
    String table = "";
    String name = "";
    int type = 0;
    long packets = 0;
    final NetlinkAttributeFlyweight attributes = message.attributes(ChainMessage.HEADER_LENGTH);
    while (attributes.next()) {
      switch (attributes.type()) {
        case NFTA_OBJ_TABLE -> table = attributes.getText();
        case NFTA_OBJ_NAME -> name = attributes.getText();
        case NFTA_OBJ_TYPE -> type = attributes.getIntBe();
        case NFTA_OBJ_DATA -> packets = packetsOf(attributes.nested());
        default -> {}
      }
    }
    return type == NFT_OBJECT_COUNTER
        ? Optional.of(new CounterMessage(table, name, packets))
        : Optional.empty();
  }

  private static long packetsOf(NetlinkAttributeFlyweight counter) {
    while (counter.next()) {
      if (counter.type() == NFTA_COUNTER_PACKETS && counter.length() == Long.BYTES) {
        return ByteBuffer.wrap(counter.getBytes()).getLong();
      }
    }
    return 0;
  }
}
