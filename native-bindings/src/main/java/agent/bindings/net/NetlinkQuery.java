package agent.bindings.net;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** Collects the answers to one request; a list arrives in several messages and datagrams. */
final class NetlinkQuery<T> {
  // linux/netlink.h
  static final int NLMSG_ERROR = 2;
  static final int NLMSG_DONE = 3;
  private static final int NLMSG_MIN_TYPE = 0x10;
  private static final int NLM_F_DUMP_INTR = 0x10;
  private static final int NLM_F_CAPPED = 0x100;
  private static final int NLM_F_ACK_TLVS = 0x200;
  private static final int NLMSGERR_ATTR_MSG = 1;

  private final List<T> answers = new ArrayList<>();
  private final String operation;
  private final int sequence;
  private final Function<NetlinkMessageFlyweight, Optional<T>> decoder;
  private boolean isInterrupted;

  NetlinkQuery(
      String operation, int sequence, Function<NetlinkMessageFlyweight, Optional<T>> decoder) {
    this.operation = operation;
    this.sequence = sequence;
    this.decoder = decoder;
  }

  /**
   * Reads the messages of one datagram and skips answers to other requests.
   *
   * @return true after the last answer
   * @throws NetlinkException if the kernel refused the request
   */
  boolean read(NetlinkMessageFlyweight messages) {
    while (messages.next()) {
      if (messages.sequence() != sequence) {
        continue;
      }
      isInterrupted |= (messages.flags() & NLM_F_DUMP_INTR) != 0;
      if (messages.type() >= NLMSG_MIN_TYPE) {
        decoder.apply(messages).ifPresent(answers::add);
      } else if (messages.type() == NLMSG_ERROR || messages.type() == NLMSG_DONE) {
        final Optional<NetlinkException> failure = failure(operation, messages);
        if (failure.isPresent()) {
          throw failure.get();
        }
        return true;
      }
    }
    return false;
  }

  /** Returns whether the kernel's list changed during the read, so that entries may be missing. */
  boolean isInterrupted() {
    return isInterrupted;
  }

  List<T> answers() {
    return answers;
  }

  /**
   * Decodes NLMSG_ERROR or NLMSG_DONE: an error number or 0; in NLMSG_ERROR the header of the
   * request follows, with its payload unless the message is capped; then attributes.
   */
  static Optional<NetlinkException> failure(String operation, NetlinkMessageFlyweight message) {
    final int errno = message.getInt(0);
    if (errno >= 0) {
      return Optional.empty();
    }
    int end = Integer.BYTES;
    if (message.type() == NLMSG_ERROR) {
      end +=
          (message.flags() & NLM_F_CAPPED) != 0
              ? NetlinkMessageFlyweight.HEADER_LENGTH
              : message.getInt(Integer.BYTES);
    }
    String explanation = "";
    if ((message.flags() & NLM_F_ACK_TLVS) != 0) {
      final NetlinkAttributeFlyweight attributes = message.attributes(end);
      while (attributes.next()) {
        if (attributes.type() == NLMSGERR_ATTR_MSG) {
          explanation = attributes.getText();
        }
      }
    }
    return Optional.of(new NetlinkException(operation, errno, explanation));
  }
}
