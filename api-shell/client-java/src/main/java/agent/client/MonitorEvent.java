package agent.client;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Instant;

/** An event of the stream of {@link MonitorClient}. */
public sealed interface MonitorEvent {
  /** What a program of the datapath says of a packet. */
  enum Kind {
    DROP,
    /** A policy verdict on a new flow. */
    VERDICT,
    /** A forwarded packet. */
    TRACE
  }

  /**
   * An end of a packet's way.
   *
   * @param address null where the packet is neither IPv4 nor IPv6
   * @param port 0 for a protocol without ports; the identifier of an ICMP echo
   * @param identity 0 where the datapath did not need it
   */
  record End(InetAddress address, int port, long identity) {}

  /**
   * A packet.
   *
   * @param reason why it is not forwarded, such as {@code policy-denied}; {@code none} where it is
   * @param direction {@code ingress} to an endpoint, {@code egress} from one, {@code network}
   * @param protocol number of the protocol in its last header (IANA)
   * @param tcpFlags flags of its TCP header, as there (RFC 9293)
   * @param endpoint the endpoint whose program saw it; 0 for the program of the node
   * @param length in bytes
   * @param interfaceIndex the interface on which it was seen
   * @param isAudited whether policy denies it and audit mode forwards it
   * @param bytes its first bytes, from the Ethernet header on; none where they were not asked for
   */
  record Packet(
      Instant time,
      Kind kind,
      String reason,
      String direction,
      int protocol,
      int tcpFlags,
      int endpoint,
      End source,
      End destination,
      long length,
      long interfaceIndex,
      boolean isAudited,
      ByteBuffer bytes)
      implements MonitorEvent {}

  /** Whose flow was given another address. */
  enum Place {
    /** A backend: that of a socket, before there is a packet. */
    SOCKET,
    /** A backend: that of an endpoint, by its first packet. */
    ENDPOINT,
    /** A backend: that of a client outside, by its first packet. */
    NETWORK,
    /** An address of the node as its source: that of an endpoint, by its first packet. */
    MASQUERADE
  }

  /**
   * A new flow, or a new peer of a socket, that was given a backend of a service; or a new flow to
   * the outside that is masqueraded.
   *
   * @param protocol number of the protocol (IANA)
   * @param service id of the service; 0 of a masqueraded flow
   * @param endpoint the endpoint whose flow it is; 0 for that of a socket or of a client outside
   * @param namespaceCookie network namespace of the socket ({@code SO_NETNS_COOKIE}); 0 for no
   *     socket
   * @param source the client; its address is null for a socket, which has no packet yet
   * @param frontend where the client sends, and of a masqueraded flow what the outside sees as its
   *     source; its identity is 0
   * @param backend where it goes; its identity is 0 for a socket
   */
  record Translation(
      Instant time,
      Place place,
      int protocol,
      long service,
      int endpoint,
      long namespaceCookie,
      End source,
      End frontend,
      End backend)
      implements MonitorEvent {}

  /**
   * What the agent did.
   *
   * @param json an object whose member {@code kind} says what
   */
  record Activity(Instant time, String json) implements MonitorEvent {}

  /**
   * Events that this subscriber did not get, since it subscribed.
   *
   * @param byRing those for which the kernel's ring had no room
   * @param byQueue those for which its own queue had none
   */
  record Lost(long byRing, long byQueue) implements MonitorEvent {}

  /** All events that the agent had kept have been received; what follows is live. */
  record KeptEnd() implements MonitorEvent {}
}
