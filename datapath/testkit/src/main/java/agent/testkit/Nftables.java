package agent.testkit;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A table of nf_tables in a namespace, written by nfnetlink, so that no tool is needed ({@code
 * linux/netfilter/nf_tables.h}). It is empty after {@link #delete}, and gone with the namespace.
 */
public final class Nftables {
  /** Hooks of the families ip, ip6 and inet (NF_INET_*). */
  public static final int PREROUTING = 0;

  public static final int LOCAL_IN = 1;
  public static final int FORWARD = 2;
  public static final int POSTROUTING = 4;

  /** Families (NFPROTO_*). */
  public static final int INET = 1;

  public static final int IPV4 = 2;
  public static final int IPV6 = 10;

  /** States of a flow in netfilter's conntrack (NF_CT_STATE_*). */
  public static final int INVALID = 1;

  public static final int ESTABLISHED_OR_RELATED = 2 | 4;
  public static final int NEW = 8;

  private static final int AF_NETLINK = 16;
  private static final int SOCK_RAW_CLOEXEC = 3 | 0x80000;
  private static final int NETLINK_NETFILTER = 12;
  private static final int NLMSG_ERROR = 2;
  private static final int BATCH_BEGIN = 0x10;
  private static final int BATCH_END = 0x11;
  private static final int SUBSYSTEM = 10;
  private static final int NEW_TABLE = SUBSYSTEM << 8;
  private static final int DELETE_TABLE = NEW_TABLE + 2;
  private static final int NEW_CHAIN = NEW_TABLE + 3;
  private static final int NEW_RULE = NEW_TABLE + 6;
  private static final int REQUEST_AND_ACK = 0x1 | 0x4;
  private static final int CREATE_AND_APPEND = 0x400 | 0x800;
  private static final int NESTED = 0x8000;
  private static final int ANSWER_MS = 2000;
  private static final int DROP = 0;
  private static final int ACCEPT = 1;

  private final NetworkNamespace namespace;
  private final int family;
  private final String table;

  private Nftables(NetworkNamespace namespace, int family, String table) {
    this.namespace = namespace;
    this.family = family;
    this.table = table;
  }

  /** Creates an empty table. */
  public static Nftables create(NetworkNamespace namespace, int family, String table) {
    final Nftables created = new Nftables(namespace, family, table);
    created.change(NEW_TABLE, CREATE_AND_APPEND, text(1, table));
    return created;
  }

  /** Adds a chain of type {@code filter} that is attached to a hook. */
  public Nftables filter(String name, int hook, boolean isDroppingByDefault) {
    return chain(name, "filter", hook, 0, isDroppingByDefault ? DROP : ACCEPT);
  }

  /** Adds a chain of type {@code nat} that is attached to a hook. */
  public Nftables nat(String name, int hook) {
    return chain(name, "nat", hook, hook == PREROUTING ? -100 : 100, ACCEPT);
  }

  private Nftables chain(String name, String type, int hook, int priority, int policy) {
    return change(
        NEW_CHAIN,
        CREATE_AND_APPEND,
        text(1, table),
        text(3, name),
        nested(4, number(1, hook), number(2, priority)),
        number(5, policy),
        text(7, type));
  }

  /** Appends a rule of the expressions to a chain. */
  public Nftables rule(String chain, byte[]... expressions) {
    return change(
        NEW_RULE, CREATE_AND_APPEND, text(1, table), text(2, chain), nested(4, expressions));
  }

  /** Deletes the table with all chains. */
  public void delete() {
    change(DELETE_TABLE, 0, text(1, table));
  }

  /** Continues where the flow has one of the states. */
  public static byte[] state(int states) {
    final ByteBuffer mask = ByteBuffer.allocate(4).order(ByteOrder.nativeOrder()).putInt(0, states);
    return join(
        expression("ct", number(1, 1), number(2, 0)),
        expression(
            "bitwise",
            number(1, 1),
            number(2, 1),
            number(3, 4),
            nested(4, value(1, mask.array())),
            nested(5, value(1, new byte[4]))),
        expression("cmp", number(1, 1), number(2, 1), nested(3, value(1, new byte[4]))));
  }

  /** Continues where an interface received the packet. */
  public static byte[] receivedBy(int ifindex) {
    return meta(4, ifindex);
  }

  /** Continues where an interface sends the packet. */
  public static byte[] sentBy(int ifindex) {
    return meta(5, ifindex);
  }

  private static byte[] meta(int key, int number) {
    final ByteBuffer wanted =
        ByteBuffer.allocate(4).order(ByteOrder.nativeOrder()).putInt(0, number);
    return join(
        expression("meta", number(1, 1), number(2, key)),
        expression("cmp", number(1, 1), number(2, 0), nested(3, value(1, wanted.array()))));
  }

  /** Continues where the packet has this destination; for the families ip and ip6. */
  public static byte[] to(String address) {
    final byte[] bytes = bytes(address);
    return join(
        expression(
            "payload",
            number(1, 1),
            number(2, 1),
            number(3, bytes.length == 4 ? 16 : 24),
            number(4, bytes.length)),
        expression("cmp", number(1, 1), number(2, 0), nested(3, value(1, bytes))));
  }

  public static byte[] accept() {
    return verdict(ACCEPT);
  }

  public static byte[] drop() {
    return verdict(DROP);
  }

  private static byte[] verdict(int code) {
    return expression("immediate", number(1, 0), nested(2, nested(2, number(1, code))));
  }

  /** Translates the destination. */
  public static byte[] dnat(String address) {
    final byte[] bytes = bytes(address);
    return join(
        expression("immediate", number(1, 1), nested(2, value(1, bytes))),
        expression("nat", number(1, 1), number(2, bytes.length == 4 ? IPV4 : IPV6), number(3, 1)));
  }

  /** Translates the source to the address of the device. */
  public static byte[] masquerade() {
    return expression("masq");
  }

  private static byte[] bytes(String address) {
    return Packets.address(address, address.indexOf(':') < 0 ? 4 : 16);
  }

  private static byte[] expression(String name, byte[]... data) {
    return nested(1, text(1, name), nested(2, data));
  }

  private static byte[] text(int type, String text) {
    return value(type, (text + '\0').getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] number(int type, int number) {
    return value(type, ByteBuffer.allocate(4).putInt(0, number).array());
  }

  private static byte[] nested(int type, byte[]... attributes) {
    return value(type | NESTED, join(attributes));
  }

  private static byte[] value(int type, byte[] value) {
    return ByteBuffer.allocate(4 + (value.length + 3 & -4))
        .order(ByteOrder.nativeOrder())
        .putShort((short) (4 + value.length))
        .putShort((short) type)
        .put(value)
        .array();
  }

  private static byte[] join(byte[]... parts) {
    int length = 0;
    for (final byte[] part : parts) {
      length += part.length;
    }
    final ByteBuffer all = ByteBuffer.allocate(length);
    for (final byte[] part : parts) {
      all.put(part);
    }
    return all.array();
  }

  private static byte[] message(int type, int flags, int family, int resource, byte[] attributes) {
    return ByteBuffer.allocate(20 + attributes.length)
        .order(ByteOrder.nativeOrder())
        .putInt(20 + attributes.length)
        .putShort((short) type)
        .putShort((short) flags)
        .putInt(1)
        .putInt(0)
        .put((byte) family)
        .put((byte) 0)
        .order(ByteOrder.BIG_ENDIAN)
        .putShort((short) resource)
        .put(attributes)
        .array();
  }

  private Nftables change(int type, int flags, byte[]... attributes) {
    final byte[] batch =
        join(
            message(BATCH_BEGIN, 1, 0, SUBSYSTEM, new byte[0]),
            message(type, REQUEST_AND_ACK | flags, family, 0, join(attributes)),
            message(BATCH_END, 1, 0, SUBSYSTEM, new byte[0]));
    namespace.call(
        () -> {
          send(batch);
          return null;
        });
    return this;
  }

  private static void send(byte[] batch) {
    final int fd = SystemCalls.socket(AF_NETLINK, SOCK_RAW_CLOEXEC, NETLINK_NETFILTER);
    try {
      final byte[] kernel =
          ByteBuffer.allocate(12)
              .order(ByteOrder.nativeOrder())
              .putShort(0, (short) AF_NETLINK)
              .array();
      if (!SystemCalls.sendTo(fd, batch, kernel)) {
        throw new IllegalStateException("nfnetlink: not sent");
      }
      final List<Integer> errors = new ArrayList<>();
      SystemCalls.receive(fd, ANSWER_MS)
          .map(bytes -> ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()))
          .filter(answer -> answer.getShort(4) == NLMSG_ERROR)
          .ifPresent(answer -> errors.add(answer.getInt(16)));
      if (!errors.equals(List.of(0))) {
        throw new IllegalStateException("nfnetlink: " + errors);
      }
    } finally {
      SystemCalls.closeDescriptor(fd);
    }
  }
}
