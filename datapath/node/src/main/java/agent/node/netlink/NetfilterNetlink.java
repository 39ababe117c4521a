package agent.node.netlink;

import agent.bindings.net.NetlinkAttributeFlyweight;
import agent.bindings.net.NetlinkMessageFlyweight;
import agent.bindings.net.NetlinkRequest;
import agent.bindings.net.NetlinkSocket;
import java.util.List;
import java.util.Optional;

/**
 * An nfnetlink session with nf_tables in the network namespace of the thread that opens it; only
 * that thread may use it. Every method throws {@link agent.bindings.net.NetlinkException} where the
 * kernel refuses a request.
 */
public final class NetfilterNetlink implements AutoCloseable {
  // linux/netfilter/nfnetlink.h and linux/netfilter/nf_tables.h
  private static final int NFNL_SUBSYS_NFTABLES = 10;
  private static final int NFT_MSG_NEWGEN = 15;
  private static final int NFT_MSG_GETGEN = 16;
  private static final int NFTA_GEN_ID = 1;

  private final NetlinkSocket socket;

  private NetfilterNetlink(NetlinkSocket socket) {
    this.socket = socket;
  }

  /** Opens a session; EPROTONOSUPPORT where the kernel lacks nfnetlink. */
  public static NetfilterNetlink open() {
    return new NetfilterNetlink(NetlinkSocket.open(NetlinkSocket.NETFILTER));
  }

  static int messageType(int message) {
    return NFNL_SUBSYS_NFTABLES << Byte.SIZE | message;
  }

  /** Starts a request with {@code struct nfgenmsg}: family 1, version 1, resource id 2. */
  static NetlinkRequest request(String operation, int message, int flags) {
    return new NetlinkRequest(operation, messageType(message), flags).putInt(0);
  }

  /** Returns the number of the rule set, which each change raises. */
  public int generation() {
    return socket
        .query(
            request("nftables generation: get", NFT_MSG_GETGEN, 0), NetfilterNetlink::generationOf)
        .stream()
        .findFirst()
        .orElse(0);
  }

  private static Optional<Integer> generationOf(NetlinkMessageFlyweight message) {
    if (message.type() != messageType(NFT_MSG_NEWGEN)) {
      return Optional.empty();
    }
    final NetlinkAttributeFlyweight attributes = message.attributes(ChainMessage.HEADER_LENGTH);
    while (attributes.next()) {
      if (attributes.type() == NFTA_GEN_ID) {
        return Optional.of(attributes.getIntBe());
      }
    }
    return Optional.empty();
  }

  /** Returns the chains of all families that are attached to a hook. */
  public List<ChainMessage> baseChains() {
    return socket.query(ChainMessage.list(), ChainMessage::decode);
  }

  /** Returns the named counters of the tables of all families. */
  public List<CounterMessage> counters() {
    return socket.query(CounterMessage.list(), CounterMessage::decode);
  }

  @Override
  public void close() {
    socket.close();
  }
}
