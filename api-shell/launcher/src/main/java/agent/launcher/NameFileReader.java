package agent.launcher;

import agent.contract.WireFormat;
import agent.contract.fqdn.FqdnLookupModel;
import agent.dns.NameLookup;
import agent.launcher.options.OptionException;
import agent.policy.rule.NamePattern;
import agent.types.IoFailure;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Reads the file of {@code --tofqdns-pre-cache}: a JSON array as {@code GET /fqdn/cache} answers.
 * Of each element only {@code fqdn}, {@code ips} and {@code ttl} count.
 */
final class NameFileReader {
  static final String OPTION = "tofqdns-pre-cache";

  private static final long MOST_BYTES = 64 << 20;

  private NameFileReader() {}

  /**
   * Reads a file.
   *
   * @throws OptionException naming the option, the file and the element
   */
  static List<NameLookup> read(Path file) {
    try {
      if (Files.size(file) > MOST_BYTES) {
        throw refused(file, "larger than " + MOST_BYTES + " bytes");
      }
      final JsonMapper mapper = WireFormat.strictMapper();
      final List<FqdnLookupModel> entries =
          mapper.readValue(
              Files.readAllBytes(file),
              mapper.getTypeFactory().constructCollectionType(List.class, FqdnLookupModel.class));
      return lookups(file, entries);
    } catch (IOException e) {
      throw refused(file, "cannot be read: " + IoFailure.reason(e));
    } catch (JacksonException e) {
      throw refused(file, "not a JSON array of names: " + e.getOriginalMessage());
    }
  }

  private static List<NameLookup> lookups(Path file, List<FqdnLookupModel> entries) {
    if (entries == null) {
      throw refused(file, "not a JSON array");
    }
    final List<NameLookup> lookups = new ArrayList<>();
    for (int i = 0; i < entries.size(); i++) {
      final String where = "[" + i + "]";
      final FqdnLookupModel entry = entries.get(i);
      if (entry.fqdn() == null || entry.ips() == null || entry.ips().isEmpty()) {
        throw refused(file, where + ": fqdn and ips are required");
      }
      if (entry.ttl() != null && entry.ttl() < 0) {
        throw refused(file, where + ".ttl: '" + entry.ttl() + "' is negative");
      }
      try {
        lookups.add(lookup(where, entry));
      } catch (Refusal refusal) {
        throw refused(file, refusal.getMessage());
      }
    }
    return lookups;
  }

  private static NameLookup lookup(String where, FqdnLookupModel entry) {
    final List<IpAddress> addresses = new ArrayList<>();
    for (int i = 0; i < entry.ips().size(); i++) {
      final String field = where + ".ips[" + i + "]";
      addresses.add(IpAddress.parse(field, entry.ips().get(i)));
    }
    return new NameLookup(
        NamePattern.name(where + ".fqdn", entry.fqdn()),
        addresses,
        entry.ttl() == null ? 0 : entry.ttl(),
        Instant.EPOCH,
        Instant.EPOCH,
        NameLookup.Source.PRECACHE);
  }

  private static OptionException refused(Path file, String reason) {
    return new OptionException("--" + OPTION + ": " + file + ": " + reason);
  }
}
