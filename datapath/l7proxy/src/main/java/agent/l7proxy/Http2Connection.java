package agent.l7proxy;

import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2StreamFrameToHttpObjectCodec;

/**
 * Makes the connection of a client one of HTTP/2: each of its streams has a {@link ClientHandler}.
 */
final class Http2Connection extends ChannelInitializer<Channel> {
  private static final int MOST_STREAMS = 100;

  private final ClientConnection connection;
  private boolean isUpgrading;
  private Channel first;

  private Http2Connection(ClientConnection connection) {
    this.connection = connection;
  }

  /** Starts it behind the handlers there are; the caller removes those. */
  static void start(Channel client, ClientConnection connection) {
    new Http2Connection(connection).add(client);
  }

  /**
   * Starts it after the response to an upgrade.
   *
   * @param settings of the client
   * @return the stream of the request that was upgraded, which has ended on the side of the client
   * @throws Http2Exception where the settings cannot be applied
   */
  static Channel upgrade(Channel client, ClientConnection connection, Http2Settings settings)
      throws Http2Exception {
    final Http2Connection upgraded = new Http2Connection(connection);
    final Http2FrameCodec codec = upgraded.add(client);
    connection.head().start(client::close);
    upgraded.isUpgrading = true;
    codec.onHttpServerUpgrade(settings);
    final Channel stream = upgraded.first;
    upgraded.isUpgrading = false;
    upgraded.first = null;
    return stream;
  }

  private Http2FrameCodec add(Channel client) {
    final Http2FrameCodec codec =
        Http2FrameCodecBuilder.forServer()
            .initialSettings(
                Http2Settings.defaultSettings()
                    .maxConcurrentStreams(MOST_STREAMS)
                    .maxHeaderListSize(RequestDecoder.LONGEST_HEAD))
            .validateRequiredPseudoHeaders(true)
            .gracefulShutdownTimeoutMillis(1_000)
            .build();
    final ChannelPipeline pipeline = client.pipeline();
    pipeline.addLast(
        new Http2FrameWatch(connection.head()), codec, new Http2MultiplexHandler(this));
    client.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, false);
    client.config().setAutoRead(true);
    connection.idle().start(client::close);
    return codec;
  }

  @Override
  protected void initChannel(Channel stream) {
    if (isUpgrading) {
      first = stream;
    }
    stream.config().setAutoRead(false);
    connection.opened(stream);
    stream
        .pipeline()
        .addLast(
            new Http2StreamFrameToHttpObjectCodec(true), ClientHandler.ofHttp2Stream(connection));
  }
}
