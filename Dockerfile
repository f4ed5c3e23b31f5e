# docker build --tag k8s-bridge .    (made without Docker by the same two steps: tests/testbed/bridge_image.py)
FROM debian:bookworm-slim AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates mmdebstrap python3-venv
WORKDIR /project
COPY scripts/bootstrap-uv scripts/
RUN scripts/bootstrap-uv
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY image image
RUN python3 -m image base /rootfs
COPY api api
COPY k8s_bridge k8s_bridge
RUN python3 -m image app /rootfs

FROM scratch
COPY --from=build /rootfs /
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/k8s-bridge"]
