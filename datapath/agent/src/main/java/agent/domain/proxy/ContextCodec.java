package agent.domain.proxy;

import agent.dns.proxy.DnsProxyContext;
import agent.dns.proxy.DnsProxyContext.Limits;
import agent.l7proxy.EscapedSlashes;
import agent.l7proxy.HttpProxyContext;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.time.Duration;
import org.xbill.DNS.Rcode;

/** Writes and reads what options say of the proxies. */
final class ContextCodec {
  private ContextCodec() {}

  static void write(DataOutput out, HttpProxyContext context) throws IOException {
    out.writeInt(context.threads());
    out.writeInt(context.descriptors());
    out.writeInt(context.retries());
    out.writeLong(context.retryTimeout().toMillis());
    out.writeLong(context.connectTimeout().toMillis());
    out.writeLong(context.requestTimeout().toMillis());
    out.writeLong(context.idleTimeout().toMillis());
    out.writeLong(context.grpcTimeout().toMillis());
    Wire.writeEnum(out, context.escapedSlashes());
  }

  static HttpProxyContext readHttp(DataInput in) throws IOException {
    return new HttpProxyContext()
        .threads(in.readInt())
        .descriptors(in.readInt())
        .retries(in.readInt())
        .retryTimeout(duration(in))
        .connectTimeout(duration(in))
        .requestTimeout(duration(in))
        .idleTimeout(duration(in))
        .grpcTimeout(duration(in))
        .escapedSlashes(Wire.readEnum(in, EscapedSlashes.values()));
  }

  private static Duration duration(DataInput in) throws IOException {
    return Duration.ofMillis(in.readLong());
  }

  static void write(DataOutput out, DnsProxyContext context) throws IOException {
    out.writeInt(context.port());
    out.writeBoolean(context.deniedCode() == Rcode.NXDOMAIN);
    final Limits limits = context.limits();
    out.writeInt(limits.questions());
    out.writeInt(limits.questionsOfEndpoint());
    out.writeInt(limits.sockets());
    out.writeInt(limits.socketsOfEndpoint());
    out.writeInt(limits.connections());
    out.writeInt(limits.connectionsOfEndpoint());
  }

  static DnsProxyContext readDns(DataInput in) throws IOException {
    return new DnsProxyContext()
        .port(in.readInt())
        .deniedIsNameError(in.readBoolean())
        .limits(
            new Limits(
                in.readInt(),
                in.readInt(),
                in.readInt(),
                in.readInt(),
                in.readInt(),
                in.readInt()));
  }
}
