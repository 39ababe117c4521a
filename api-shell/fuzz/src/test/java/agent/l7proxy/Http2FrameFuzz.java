package agent.l7proxy;

import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.RedirectedFlow;
import agent.fuzz.FuzzInputs;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.HttpRequest;
import agent.policy.request.HttpVerdict;
import agent.policy.request.PolicyRedirect;
import agent.policy.request.RedirectCounters;
import agent.policy.request.RequestPolicies;
import agent.types.IpAddress;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.local.LocalServerChannel;
import io.netty.handler.codec.http2.Http2Exception;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Frames of an HTTP/2 client behind its preface. What is judged of them is a request that a server
 * of HTTP/1.1 takes for the same one.
 */
public final class Http2FrameFuzz {
  private static final String PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  private static final String SETTINGS = "000000040000000000";
  private static final String GET = "82868441066131746573740001610162";

  /** Settings, requests with and without a body, split fields, trailers, and other frames. */
  public static final List<byte[]> SEEDS =
      List.of(
          frames(SETTINGS, "00000B010500000001", "82868441" + "06612E74657374"),
          frames(
              SETTINGS,
              "00000B010400000001",
              "83868441" + "06612E74657374",
              "000003000100000001",
              "616263"),
          frames(
              SETTINGS, "000003010100000001", "828684", "000008090400000001", "4106612E74657374"),
          frames(
              SETTINGS,
              "00001A010500000001",
              "828641" + "06612E74657374" + "0405" + "2F612F2E2E" + "0F0D0130" + "000161" + "0162"),
          frames(SETTINGS, "000010010500000001", GET, "000004030000000001", "00000008"),
          frames(
              "000006040000000000",
              "00010000FFFF",
              "000008060000000000",
              "0102030405060708",
              "000004080000000000",
              "00010000",
              "000005020000000003",
              "0000000010"));

  /** The channel of a client is one of a listener, so that its streams are those of a server. */
  private static final LocalServerChannel LISTENER = new LocalServerChannel();

  private static final RedirectedFlow FLOW =
      new RedirectedFlow(
          6, IpAddress.parse("10.0.0.1"), 1000, 1, 1, IpAddress.parse("10.0.0.2"), 80, 2, 2);

  private Http2FrameFuzz() {}

  private static byte[] frames(String... hex) {
    return HexFormat.of().parseHex(String.join("", hex));
  }

  /** Reads frames, and what is judged of them. */
  public static void fuzzerTestOneInput(byte[] input) {
    final Judge judge = new Judge();
    final EmbeddedChannel client = EmbeddedChannel.builder().parent(LISTENER).build();
    final HttpProxyContext context =
        new HttpProxyContext().headTimeout(Duration.ZERO).redirect(judge).policies(judge);
    final ClientConnection connection =
        new ClientConnection(
            context,
            FLOW,
            0,
            client,
            new RedirectCounters(judge, RedirectKind.HTTP).of(FLOW),
            new ProxyConnections(10).add(FLOW, client),
            null);
    connection.protocol(client, false);
    Http2Connection.start(client, connection);
    client.pipeline().addLast(new CodecFailures());
    client.writeInbound(Unpooled.copiedBuffer(PREFACE, StandardCharsets.US_ASCII));
    client.writeInbound(Unpooled.wrappedBuffer(input));
    client.runPendingTasks();
    client.finishAndReleaseAll();
    for (final String sent : judge.sent) {
      RequestHeadFuzz.fuzzerTestOneInput(sent.getBytes(StandardCharsets.ISO_8859_1));
    }
  }

  /** The codec has ended the connection for what is no frame; other failures are findings. */
  private static final class CodecFailures extends ChannelInboundHandlerAdapter {
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      if (!(cause instanceof Http2Exception)) {
        ctx.fireExceptionCaught(cause);
      }
    }
  }

  /** Denies all requests, and keeps what a server would have been sent. */
  private static final class Judge implements RedirectProxy, RequestPolicies {
    private final List<String> sent = new ArrayList<>();

    @Override
    public Optional<IpAddress> address(boolean ipv6) {
      throw new AssertionError("no server is asked");
    }

    @Override
    public int previousPort(RedirectKind kind) {
      throw new AssertionError("the launcher does this");
    }

    @Override
    public CompletableFuture<Void> serve(RedirectKind kind, int firstPort) {
      throw new AssertionError("the launcher does this");
    }

    @Override
    public Optional<RedirectedFlow> find(int protocol, IpAddress client, int clientPort, int port) {
      return Optional.of(FLOW);
    }

    @Override
    public CompletableFuture<Void> join(RedirectedFlow flow, int port) {
      throw new AssertionError("no server is asked");
    }

    @Override
    public Optional<String> refusal(RedirectedFlow flow) {
      return Optional.empty();
    }

    @Override
    public void leave(RedirectedFlow flow, int port) {
      throw new AssertionError("no server is asked");
    }

    @Override
    public HttpVerdict http(RedirectedFlow flow, HttpRequest request) {
      final String text = RequestHeadFuzz.text(((JudgedRequest) request).head());
      sent.add(text);
      FuzzInputs.assertSame(1, RequestHeadFuzz.count(text), text);
      return HttpVerdict.DENIED;
    }

    @Override
    public boolean dns(RedirectedFlow flow, String name) {
      return false;
    }

    @Override
    public RedirectKind redirect(RedirectedFlow flow, PolicyDirection direction) {
      return RedirectKind.HTTP;
    }

    @Override
    public List<PolicyRedirect> redirects(int endpointId) {
      return List.of();
    }

    @Override
    public long revision() {
      return 1;
    }
  }
}
