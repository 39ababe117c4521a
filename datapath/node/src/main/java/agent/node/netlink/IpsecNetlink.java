package agent.node.netlink;

import agent.bindings.Errno;
import agent.bindings.net.NetlinkException;
import agent.bindings.net.NetlinkMessageFlyweight;
import agent.bindings.net.NetlinkRequest;
import agent.bindings.net.NetlinkSocket;
import java.util.Optional;

/** The IPsec policies of the network namespace of the calling thread ({@code linux/xfrm.h}). */
public final class IpsecNetlink {
  private static final int XFRM_MSG_NEWPOLICY = 0x13;
  private static final int XFRM_MSG_GETPOLICY = 0x15;

  private IpsecNetlink() {}

  /**
   * Returns the number of policies; 0 where the kernel lacks IPsec.
   *
   * @throws NetlinkException where the kernel refuses the request
   */
  public static int policies() {
    try (NetlinkSocket socket = NetlinkSocket.open(NetlinkSocket.XFRM)) {
      return socket
          .query(
              new NetlinkRequest(
                  "IPsec policies: list", XFRM_MSG_GETPOLICY, NetlinkRequest.NLM_F_DUMP),
              IpsecNetlink::decode)
          .size();
    } catch (NetlinkException failure) {
      if (failure.errno() == Errno.EPROTONOSUPPORT) {
        return 0;
      }
      throw failure;
    }
  }

  private static Optional<Integer> decode(NetlinkMessageFlyweight message) {
    return message.type() == XFRM_MSG_NEWPOLICY ? Optional.of(message.type()) : Optional.empty();
  }
}
