package agent.l7proxy;

import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.LastHttpContent;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.List;

/** The parts of a body that came before there was a connection to the server: one read of them. */
final class WaitingBody {
  /** No rule judges the fields of a response. */
  static final Collection<String> NO_NAMES = List.of();

  private final Deque<HttpContent> parts = new ArrayDeque<>(2);

  /** Adds a part and owns it. */
  void add(HttpContent part) {
    parts.add(part);
  }

  /** Returns whether there is nothing to send but the end. */
  boolean isEmpty() {
    final HttpContent first = parts.peek();
    return first == null
        || first instanceof LastHttpContent last
            && !last.content().isReadable()
            && last.trailingHeaders().isEmpty();
  }

  /** Writes all of it; returns whether there were bytes. */
  boolean writeTo(Channel server) {
    boolean hasBytes = false;
    while (!parts.isEmpty()) {
      hasBytes |= parts.peek().content().isReadable();
      server.write(parts.poll());
    }
    return hasBytes;
  }

  void release() {
    while (!parts.isEmpty()) {
      parts.poll().release();
    }
  }

  /**
   * Neither end must take a trailer for a field of the header that was judged.
   *
   * @param judged the names of fields that rules have looked at or changed
   */
  static void removeTrailers(HttpObject part, Collection<String> judged) {
    if (!(part instanceof LastHttpContent last) || last.trailingHeaders().isEmpty()) {
      return;
    }
    final HttpHeaders trailers = last.trailingHeaders();
    JudgedRequest.removeHopFields(trailers);
    trailers.remove("content-length").remove("transfer-encoding").remove("trailer");
    trailers.remove("host").remove("te").remove("expect").remove("cookie");
    trailers.remove("authorization").remove("proxy-authorization");
    for (final String name : judged) {
      trailers.remove(name);
      JudgedRequest.removeLookalikes(trailers, name);
    }
  }
}
