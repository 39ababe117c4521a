package agent.state;

import agent.dns.NameLookup;
import agent.dns.NameLookup.Source;
import agent.policy.rule.NamePattern;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.time.Instant;
import java.util.List;
import java.util.Locale;

/** The codec of {@code names/cache.json} and of the parts of {@code names/added-<n>.json}. */
final class NameCodec implements Codec<List<NameLookup>> {
  @Override
  public void write(DocumentWriter out, List<NameLookup> lookups) {
    out.beginObject();
    out.member("lookups", lookups, (to, all) -> to.list(all, NameCodec::writeLookup));
    out.endObject();
  }

  @Override
  public List<NameLookup> read(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final List<NameLookup> lookups = in.member("lookups", from -> from.list(NameCodec::readLookup));
    in.endObject();
    return lookups;
  }

  private static void writeLookup(DocumentWriter out, NameLookup lookup) {
    out.beginObject();
    out.member("name", lookup.name(), DocumentWriter::text);
    out.member("addresses", lookup.addresses(), (to, all) -> to.list(all, DocumentWriter::text));
    out.member("ttlSec", lookup.ttlSec(), DocumentWriter::longInteger);
    out.member("lookupTime", lookup.lookupTime(), DocumentWriter::text);
    out.member("expirationTime", lookup.expirationTime(), DocumentWriter::text);
    out.member("source", lookup.source().name().toLowerCase(Locale.ROOT), DocumentWriter::text);
    if (lookup.endpointId() != 0) {
      out.member("endpointId", (long) lookup.endpointId(), DocumentWriter::longInteger);
    }
    out.endObject();
  }

  private static NameLookup readLookup(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final String name = in.member("name", NameCodec::readName);
    final List<IpAddress> addresses =
        in.member("addresses", from -> from.list(DocumentReader::address));
    in.check(!addresses.isEmpty(), name + " has no address");
    final long ttlSec = in.member("ttlSec", DocumentReader::longInteger);
    in.check(ttlSec >= 0, ttlSec + " is no time to live");
    final Instant lookupTime = in.member("lookupTime", DocumentReader::instant);
    final Instant expirationTime = in.member("expirationTime", DocumentReader::instant);
    final Source source = in.member("source", NameCodec::readSource);
    final Integer endpointId = in.lastMember("endpointId", NameCodec::readEndpointId);
    return new NameLookup(
        name,
        addresses,
        ttlSec,
        lookupTime,
        expirationTime,
        source,
        endpointId == null ? 0 : endpointId);
  }

  private static Integer readEndpointId(DocumentReader in) throws DamagedStateException {
    final int id = in.integer();
    in.check(id > 0, id + " is no endpoint");
    return id;
  }

  private static String readName(DocumentReader in) throws DamagedStateException {
    final String text = in.text();
    try {
      in.check(NamePattern.name("", text).equals(text), "'" + text + "' is not a stored name");
    } catch (Refusal refusal) {
      in.check(false, refusal.reason());
    }
    return text;
  }

  private static Source readSource(DocumentReader in) throws DamagedStateException {
    return in.parsed(
        text ->
            switch (text) {
              case "lookup" -> Source.LOOKUP;
              case "precache" -> Source.PRECACHE;
              case "connection" -> Source.CONNECTION;
              default -> throw Refusal.invalid("", "is no source");
            },
        "lookup, precache or connection");
  }
}
