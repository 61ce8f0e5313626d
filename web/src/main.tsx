import "./styles.css";

import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { newQueryClient } from "./api/queryClient";
import { applyTheme } from "./lib/preferences";
import { newRouter } from "./router";

applyTheme();
const client = newQueryClient();
const router = newRouter(client);
const place = document.getElementById("root");
if (place !== null) {
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
