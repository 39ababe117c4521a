package agent.contract.monitor;

/**
 * The stream of live events, version {@value #VERSION}. It is on a Unix socket of its own, whose
 * path is that of the API's socket with {@value #SOCKET_SUFFIX} for {@value #API_SUFFIX}.
 *
 * <p>Both sides send frames. All numbers are unsigned and little-endian, but those of {@code
 * flow_event} whose name ends in {@code _be}; a text is a byte with its length and so many bytes of
 * UTF-8.
 *
 * <pre>
 * frame           u32 length of the frame with this header; u16 type; u16 zero; then by type:
 *  1 HELLO        u16 version; u16 length of a flow_event; u32 events that fit the queue;
 *                 s64 CLOCK_REALTIME less CLOCK_MONOTONIC in nanoseconds; text version of the agent;
 *                 u8 number of drop reasons, and a text for each, whose number is its place from 0;
 *                 u8 number of directions, and a text for each; since 0.6.0: u32 bytes of a packet that
 *                 the agent captures at most; u32 flow events that it keeps at most, 0 where it keeps
 *                 none; since 0.9.0: u16 length of a translation_event
 *  2 FLOW         struct flow_event of maps/event_map.h: {@value #FLOW_BYTES} bytes; a later release
 *                 may append members, and says so in HELLO; then, where SUBSCRIBE asked for them, the
 *                 first bytes of the packet to the end of the frame, from its Ethernet header on
 *  3 AGENT        u64 nanoseconds on CLOCK_MONOTONIC; a JSON object in UTF-8 to the end of the frame,
 *                 whose member "kind" says what happened: "api" a changing call (method, path, status,
 *                 client, message), "endpoint" a new entry of its log (endpoint, state, code, message),
 *                 since 0.6.0 "service" a change in force (service, change: created, updated or
 *                 deleted, frontend, backends, name, namespace), "dns" a lookup (fqdn, ips, ttl); since
 *                 0.8.0 "l7" what a proxy did with a request (protocol: HTTP/1.1, HTTP/2 or DNS,
 *                 transport: TCP or UDP, verdict: Forwarded, Denied or Error, source and destination:
 *                 ip, port, identity, endpoint-id; of HTTP method, path, host, status, duration-ms; of
 *                 DNS fqdn, type, response-code, ips, ttl); since 0.9.0 "policy" a commit of rules in
 *                 force (revision, rules after it, added, removed, labels of both, and labels-left-out
 *                 where there are too many)
 *  4 LOST         u64 events that the kernel's ring could not take; u64 events that this
 *                 subscriber's queue could not take; both since it subscribed
 *  5 KEPT         empty: all events that the agent had kept have been sent
 *  6 TRANSLATION  since 0.9.0: struct translation_event of maps/event_map.h: {@value #TRANSLATION_BYTES}
 *                 bytes, to which a later release may append members
 * 16 SUBSCRIBE    u32 mask: bit 1 drops, bit 2 policy verdicts on new flows, bit 3 traces of
 *                 forwarded packets, bit 16 what the agent does; since 0.6.0: bit 17 the first bytes
 *                 of each packet, bit 24 first of all the events of packets that the agent has kept,
 *                 without such bytes, bit 25 these alone; since 0.8.0: bit 18 of what the agent does
 *                 "l7" alone, and with bits 24 and 25 those that the agent has kept after the packets;
 *                 since 0.9.0: bit 4 translations, each of a new flow, or a new peer of a socket, that
 *                 was given a backend of a service, or of a new flow that is masqueraded
 * </pre>
 *
 * <p>With bit 24, which an agent whose HELLO ends before the number of kept events does not know,
 * KEPT follows the kept events of the types that are wanted, the oldest first. Live ones come after
 * it: none is left out between, and none comes twice. With bit 25 the stream ends with KEPT, and
 * the programs emit nothing for this subscriber.
 *
 * <p>A client sends SUBSCRIBE, once and first, within five seconds. HELLO answers when the programs
 * emit what it asked for; from then on no event of these types is left out but those that LOST
 * counts. A frame of an unknown type is to be skipped, and so is what follows the known members of
 * HELLO; an agent ignores bits that it does not know. So clients and agents of one version
 * understand each other, whatever their releases.
 */
public final class MonitorStream {
  public static final int VERSION = 1;
  private static final String API_SUFFIX = ".sock";
  private static final String SOCKET_SUFFIX = "-monitor.sock";

  public static final int HEADER_BYTES = 8;
  public static final int HELLO = 1;
  public static final int FLOW = 2;
  public static final int AGENT = 3;
  public static final int LOST = 4;
  public static final int KEPT = 5;
  public static final int TRANSLATION = 6;
  public static final int SUBSCRIBE = 16;

  public static final int DROPS = 1 << 1;
  public static final int VERDICTS = 1 << 2;
  public static final int TRACES = 1 << 3;
  public static final int TRANSLATIONS = 1 << 4;
  public static final int AGENT_EVENTS = 1 << 16;
  public static final int PACKET_BYTES = 1 << 17;
  public static final int REQUESTS = 1 << 18;
  public static final int KEPT_FIRST = 1 << 24;
  public static final int KEPT_ALONE = 1 << 25;

  /** The length of {@code flow_event} in this version. */
  public static final int FLOW_BYTES = 72;

  /** The length of {@code translation_event} in this version. */
  public static final int TRANSLATION_BYTES = 96;

  private MonitorStream() {}

  /** Returns the path of the stream's socket beside that of the API. */
  public static String socketBeside(String apiSocket) {
    return apiSocket.endsWith(API_SUFFIX)
        ? apiSocket.substring(0, apiSocket.length() - API_SUFFIX.length()) + SOCKET_SUFFIX
        : apiSocket + SOCKET_SUFFIX;
  }
}
