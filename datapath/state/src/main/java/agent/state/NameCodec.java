package agent.state;

import agent.dns.NameLookup;
import agent.dns.NameLookup.Source;
import agent.policy.NamePattern;
import agent.types.Refusal;
import java.util.List;
import java.util.Locale;

/** The codec of {@code names/cache.json}. */
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
    out.endObject();
  }

  private static NameLookup readLookup(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final NameLookup lookup =
        new NameLookup(
            in.member("name", NameCodec::readName),
            in.member("addresses", from -> from.list(DocumentReader::address)),
            in.member("ttlSec", DocumentReader::longInteger),
            in.member("lookupTime", DocumentReader::instant),
            in.member("expirationTime", DocumentReader::instant),
            in.member("source", NameCodec::readSource));
    in.check(!lookup.addresses().isEmpty(), lookup.name() + " has no address");
    in.check(lookup.ttlSec() >= 0, lookup.ttlSec() + " is no time to live");
    in.endObject();
    return lookup;
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
              default -> throw Refusal.invalid("", "is no source");
            },
        "lookup or precache");
  }
}
