package dev.slicewright.kubernetes;

import java.util.Objects;

/** What a {@link ClusterReader} was told. */
record ReadSettings(boolean lenient, TenantBy tenantBy) {
  ReadSettings {
    Objects.requireNonNull(tenantBy, "tenantBy");
  }
}
